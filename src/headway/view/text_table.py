"""Text tables for a terminal and for Markdown; the first row is the heading."""

from collections.abc import Iterator, Sequence


def aligned(table: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lines for a terminal: names left-aligned, figures right-aligned."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for name, *cells in table:
        figures = map(str.rjust, cells, widths[1:])
        yield "  ".join([name.ljust(widths[0]), *figures]).rstrip()


def piped(table: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lines of a Markdown table."""
    head, *rows = table
    rule = ["---", *["---:"] * (len(head) - 1)]
    for row in [head, rule, *rows]:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"

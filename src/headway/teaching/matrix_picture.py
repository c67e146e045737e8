"""A matrix with its words, as a text table and as a drawing.

The input is that of a heat map: labels of rows and columns, and a value for each pair. Unlike a
heat map, the drawing shows the numbers and does not need a page.
"""

import math
import unicodedata
from collections.abc import Sequence

from ..view.labels import check_labels
from ..view.page import text

_CELL, _MARGIN = 34, 16
_CHARACTER = 7.6  # mean width of a character at this font size
_FULL = "#1b5a96"
_BREAKS = str.maketrans({"\n": "⏎", "\r": "⏎", "\t": "⇥"})


def matrix_text(
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float]],
    digits: int = 2,
) -> str:
    """The matrix as lines of text, columns aligned; zero is a dot, whole numbers have no decimals.

    Raises:
        DataError: the labels do not fit the values.
    """
    check_labels(values, rows, columns)
    body = [[_figure(value, digits) for value in row] for row in values]
    labels, head = [_line(row) for row in rows], [_line(column) for column in columns]
    wide = max(map(_width, labels), default=0)
    widths = [max(map(_width, column)) for column in zip(head, *body, strict=True)]
    lines = []
    for label, cells in zip(["", *labels], [head, *body], strict=True):
        padded = (_left(cell, width) for cell, width in zip(cells, widths, strict=True))
        lines.append("  ".join([label + " " * (wide - _width(label)), *padded]).rstrip() + "\n")
    return "".join(lines)


def matrix_svg(
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float]],
    title: str,
    digits: int = 2,
) -> str:
    """The matrix as a self-contained SVG: each cell has a colour and the number.

    The largest value has full colour; a value that is not finite has none.

    Args:
        title: the text for screen readers.

    Raises:
        DataError: the labels do not fit the values.
    """
    check_labels(values, rows, columns)
    left, top = _MARGIN + _room(rows), _MARGIN + _room(columns)
    width = left + _CELL * len(columns) + _MARGIN
    height = top + _CELL * len(rows) + _MARGIN
    largest = max((v for row in values for v in row if math.isfinite(v)), default=0.0)
    parts = [_column_label(left + _CELL * (j + 0.5), top, name) for j, name in enumerate(columns)]
    for i, (name, row) in enumerate(zip(rows, values, strict=True)):
        y = top + _CELL * i
        parts.append(_text(left - 8, y + _CELL / 2, _line(name), "end"))
        parts += [
            _cell(left + _CELL * j, y, value, largest, digits, f"{_line(name)} → {_line(column)}")
            for j, (column, value) in enumerate(zip(columns, row, strict=True))
        ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" font-family="system-ui, sans-serif" font-size="13" role="img">'
        f'<title>{text(title)}</title><rect width="100%" height="100%" fill="#ffffff"/>'
        f"{''.join(parts)}</svg>\n"
    )


def _figure(value: float, digits: int) -> str:
    if value == 0:
        return "."
    return f"{value:.0f}" if math.isfinite(value) and value == int(value) else f"{value:.{digits}f}"


def _line(label: str) -> str:
    """A label without line breaks and tabs."""
    return label.translate(_BREAKS)


def _width(words: str) -> int:
    """The width in terminal columns: Chinese characters take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in words
    )


def _left(words: str, width: int) -> str:
    return " " * (width - _width(words)) + words


def _room(labels: Sequence[str]) -> float:
    """The space for labels outside the cells."""
    return 8 + _CHARACTER * max((_width(_line(label)) for label in labels), default=0)


def _cell(x: float, y: float, value: float, largest: float, digits: int, label: str) -> str:
    share = 0.0
    if math.isfinite(value) and largest > 0:
        share = min(max(value / largest, 0.0), 1.0)
    ink = "#ffffff" if share > 0.5 else "#1d2024"
    figure = ""
    if value != 0:
        figure = _text(x + _CELL / 2, y + _CELL / 2, _figure(value, digits), ink=ink)
    return (
        f'<g><title>{text(label)}: {value:.4f}</title><rect x="{x:.0f}" y="{y:.0f}" '
        f'width="{_CELL}" height="{_CELL}" fill="{_FULL}" fill-opacity="{share:.3f}" '
        f'stroke="#e2dfd8"/>{figure}</g>'
    )


def _column_label(x: float, y: float, label: str) -> str:
    """A column label, rotated to be read upwards from the cells."""
    words = _text(0, 0, _line(label), "start")
    return f'<g transform="translate({x:.0f} {y - 8:.0f}) rotate(-90)">{words}</g>'


def _text(x: float, y: float, words: str, anchor: str = "middle", ink: str = "#1d2024") -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" dominant-baseline="central" text-anchor="{anchor}" '
        f'fill="{ink}">{text(words)}</text>'
    )

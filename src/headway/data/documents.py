"""Documents out of a plain file: where one ends and the next begins.

Blank lines set documents apart. Where the first line that is not blank is a title as WikiText
writes them (` = Title = `), blank lines stand between paragraphs instead, and every title that
stands alone between blank lines begins a document. Titles and headings (` = = Part = = `) are text
like any other.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from headway.data.lines import read_lines

_TITLE = re.compile(r"= (?!= ).*\S(?<! =) =")


def read_documents(path: str | Path, name: str | None = None) -> Iterator[tuple[str, int]]:
    """The documents of a UTF-8 file, each with the number of the line it begins at.

    Lines stay lines, but for the blank ones; white space around a line is left out. A document is
    held in memory, the file is not.

    Args:
        path: the file, plain or gzipped; "-" is standard input.
        name: what messages call it; the path unless given.

    Raises:
        DataError: naming file and line, for bad UTF-8 or broken gzip data.
    """
    document: list[str] = []
    is_titled, start = False, 0
    for number, lines in _paragraphs(path, name):
        begins = is_title(lines)
        if not start:
            is_titled = begins
        if document and (begins or not is_titled):
            yield "\n".join(document), start
            document = []
        start = start if document else number
        document += lines
    if document:
        yield "\n".join(document), start


def is_title(paragraph: list[str]) -> bool:
    """Whether lines without white space around them are a title of WikiText."""
    return len(paragraph) == 1 and _TITLE.fullmatch(paragraph[0]) is not None


def _paragraphs(path: str | Path, name: str | None) -> Iterator[tuple[int, list[str]]]:
    """Lines that no blank line stands between, with the number of the first one."""
    lines: list[str] = []
    number = 0
    for number, line in enumerate(read_lines(path, name), 1):
        if text := line.strip():
            lines.append(text)
        elif lines:
            yield number - len(lines), lines
            lines = []
    if lines:
        yield number - len(lines) + 1, lines

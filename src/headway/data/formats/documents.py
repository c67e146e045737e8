"""Documents of a plain file.

Blank lines separate documents. If the first line that is not blank is a title as in WikiText
(` = Title = `), blank lines separate paragraphs instead, and every title between two blank lines
begins a document. Titles and headings (` = = Part = = `) belong to the text.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from .format import CorpusFiles, FileFormat, Row
from .lines import read_lines

_TITLE = re.compile(r"= (?!= ).*\S(?<! =) =")


def read_documents(path: str | Path, name: str | None = None) -> Iterator[tuple[str, int]]:
    """The documents of a UTF-8 file, each with the number of its first line.

    Line breaks are kept; blank lines and white space around lines are dropped. One document at a
    time is in memory.

    Args:
        path: the file, plain or gzipped; "-" is standard input.
        name: its name in messages; by default the path.

    Raises:
        DataError: bad UTF-8 or broken gzip data; the message names file and line.
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
    """Whether a paragraph of stripped lines is a title of WikiText."""
    return len(paragraph) == 1 and _TITLE.fullmatch(paragraph[0]) is not None


def _paragraphs(path: str | Path, name: str | None) -> Iterator[tuple[int, list[str]]]:
    """The paragraphs between blank lines, each with the number of its first line."""
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


def _rows(corpus: CorpusFiles) -> Iterator[Row]:
    for text, line in read_documents(corpus.path, corpus.name):
        yield Row((text,), f"{corpus.name}:{line}")


DOCUMENTS = FileFormat(
    "several texts, which blank lines set apart, or titles (` = Title = `) as in WikiText",
    _rows,
    columns="one",
    rows="documents",
)

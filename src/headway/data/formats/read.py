"""Rows of a corpus of any format, one at a time, each with its `file:line`.

The task names the columns, `config` describes where a corpus has them, and each format of `FORMATS`
has its own reader. Nothing is dropped here: a blank line of a table is a row of empty values, which
`prepare` counts.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from ...errors import ConfigError
from ..config import Corpus, RowSplit, column_of, files_of, format_of
from ..random_numbers import number_of_text
from . import FORMATS
from .format import CorpusFiles, Row
from .lines import read_lines

__all__ = ["Row", "has_column", "read", "read_lines", "read_whole"]


def read(corpus: Corpus, columns: Sequence[str], root: Path) -> Iterator[Row]:
    """Streams the rows of a corpus; those of a running text are its pieces.

    Args:
        columns: the task's names of the columns, such as `("source", "target")`.
        root: the folder of relative file names.

    Raises:
        ConfigError: the description does not fit the format.
        DataError: a file is missing or malformed; the message names file and line.
    """
    form = FORMATS[format_of(corpus, single=len(columns) == 1)]
    corpus_files = CorpusFiles(
        files_of(corpus, columns, root),
        {column: column_of(corpus, column) for column in columns},
        corpus.part if form.takes_parts else None,
        corpus.separator,
        corpus.inner,
    )
    if corpus.part is None or form.takes_parts:
        rows = form.read(corpus_files)
    else:
        part = _part_of_text if form.rows == "pieces" else _part
        rows = part(lambda: form.read(corpus_files), *corpus.part)
    return rows if corpus.split is None else _split(rows, corpus.split, columns)


def read_whole(corpus: Corpus, columns: Sequence[str], root: Path) -> Iterator[Row]:
    """The rows of a corpus; a running text is a single row."""
    rows = read(corpus, columns, root)
    if FORMATS[format_of(corpus, single=len(columns) == 1)].rows != "pieces":
        return rows
    return iter([Row(("".join(row.values[0] for row in rows),), f"{corpus.file}:1")])


def has_column(corpus: Corpus, column: str, root: Path) -> bool:
    """Whether a corpus has an optional column of its task.

    It does if it has an entry for the column, or if the header of its table names it.

    Raises:
        DataError: the file is missing, or is no text.
    """
    if column_of(corpus, column) is not None:
        return True
    if corpus.file is None:
        return False
    header = FORMATS[format_of(corpus)].header
    if header is None:
        return False
    [(name, path)] = files_of(corpus, (column,), root)
    return column in header(next((line for line in read_lines(path, name) if line.strip()), ""))


def _split(rows: Iterator[Row], split: RowSplit, columns: Sequence[str]) -> Iterator[Row]:
    """The rows whose number is in the range of a split."""
    if split.by is not None and split.by not in columns:
        raise ConfigError(
            f"split.by = {split.by!r} is not a column; expected one of {', '.join(columns)}"
        )
    index = 0 if split.by is None else columns.index(split.by)
    return (
        row
        for row in rows
        if split.above <= number_of_text(row.values[index], split.seed) < split.below
    )


Rows = Callable[[], Iterator[Row]]


def _part(rows: Rows, start: float, stop: float) -> Iterator[Row]:
    n = sum(1 for _ in rows())
    return islice(rows(), int(n * start), int(n * stop))


def _part_of_text(rows: Rows, start: float, stop: float) -> Iterator[Row]:
    """A part counted in characters; it may begin and end inside a line."""
    n = sum(len(row.values[0]) for row in rows())
    first, last = int(n * start), int(n * stop)
    n_read = 0
    for row in rows():
        text = row.values[0][max(first - n_read, 0) : max(last - n_read, 0)]
        n_read += len(row.values[0])
        if text:
            yield Row((text,), row.where)

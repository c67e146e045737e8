"""Rows of a corpus of any format, one at a time, each with its `file:line`.

The task names the columns, `config` describes where a corpus has them, and each format of `FORMATS`
has its own reader. Nothing is dropped here: a blank line of a table is a row of empty values, which
`prepare` counts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from ...errors import ConfigError
from ..config import (
    SERIES_COLUMNS,
    Corpus,
    RowSplit,
    column_of,
    files_of,
    format_for,
    format_of,
    parts_are_steps,
    shares_of,
)
from ..random_numbers import number_of_value
from . import FORMATS
from .format import CorpusFiles, Row, SeriesOptions
from .lines import read_lines
from .row_cache import rows_once

__all__ = ["Row", "has_column", "read", "read_lines", "read_whole"]


def read(
    corpus: Corpus,
    columns: Sequence[str],
    root: Path,
    names: Mapping[str, tuple[str, ...]] | None = None,
) -> Iterator[Row]:
    """Streams the rows of a corpus; those of a running text are its pieces.

    The part of a forecast selects steps, not rows; it is left to the task.

    Args:
        columns: the task's names of the columns, such as `("source", "target")`.
        root: the folder of relative file names.
        names: the columns that a trained model of series reads, by column of the task.

    Raises:
        ConfigError: the description does not fit the format.
        DataError: a file is missing or malformed; the message names file and line.
    """
    form = FORMATS[format_for(corpus, columns)]
    shares = None if parts_are_steps(columns) else shares_of(corpus)
    corpus_files = CorpusFiles(
        files_of(corpus, columns, root),
        {column: column_of(corpus, column) for column in columns},
        shares if form.takes_parts else None,
        corpus.separator,
        corpus.inner,
        options_of(corpus, columns, names),
    )
    rows_of = partial(rows_once, form.read) if form.rows == "series" else form.read
    if shares is None or form.takes_parts:
        rows = rows_of(corpus_files)
    else:
        part = _part_of_text if form.rows == "pieces" else _part
        rows = part(lambda: rows_of(corpus_files), *shares)
    return rows if corpus.split is None else _split(rows, corpus.split, columns)


def options_of(
    corpus: Corpus,
    columns: Sequence[str],
    names: Mapping[str, tuple[str, ...]] | None = None,
) -> SeriesOptions:
    """How the series of a corpus are read for a task with these columns."""
    return SeriesOptions(
        id=corpus.id,
        time=corpus.time,
        frequency=corpus.frequency,
        day_first=corpus.day_first,
        aggregate=corpus.aggregate or "mean",
        missing=corpus.missing or "mask",
        repeated=corpus.repeated or "error",
        names=names,
        unread=tuple(
            entry
            for column in ("label", "value")
            if column not in columns and isinstance(entry := column_of(corpus, column), str | int)
        ),
    )


def read_whole(
    corpus: Corpus,
    columns: Sequence[str],
    root: Path,
    names: Mapping[str, tuple[str, ...]] | None = None,
) -> Iterator[Row]:
    """The rows of a corpus, as `read`; a running text is a single row."""
    rows = read(corpus, columns, root, names)
    if FORMATS[format_for(corpus, columns)].rows != "pieces":
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
    if corpus.file is None or column in SERIES_COLUMNS:
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
        if split.above <= number_of_value(row.values[index], split.seed) < split.below
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

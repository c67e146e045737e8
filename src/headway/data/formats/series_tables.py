"""Text tables of series: wide (a row for each time) or long (a row for each series and time)."""

from collections.abc import Iterator
from itertools import islice

from ...errors import DataError
from ..times import looks_dated
from .format import CorpusFiles, FileFormat, Row
from .ragged import RAGGED, is_ragged_header
from .series_layout import (
    TIME_NAMES,
    has_own_columns,
    is_long_table,
    named_like,
    names_series,
)
from .series_rows import rows_of
from .series_table import is_number, read_table, split_rows
from .ucr import LABEL_FIRST, is_label_header


def read_wide(corpus: CorpusFiles) -> Iterator[Row]:
    """One row: the series of the whole file."""
    return _read(corpus, is_long=False)


def read_long(corpus: CorpusFiles) -> Iterator[Row]:
    """One row for each series."""
    return _read(corpus, is_long=True)


def _read(corpus: CorpusFiles, is_long: bool) -> Iterator[Row]:
    tables = [read_table(path, name) for name, path in corpus.files]
    earlier = tables[1] if len(tables) > 1 else None
    yield from rows_of(tables[0], corpus.columns, corpus.options, is_long, earlier)


def read_by_header(corpus: CorpusFiles) -> Iterator[Row]:
    """The rows of a table whose form its first lines show."""
    yield from _form(corpus).read(corpus)


def _form(corpus: CorpusFiles) -> FileFormat:
    """The format of a text table of series."""
    lines = [fields for _, fields in islice(split_rows(corpus.path, corpus.name), 2)]
    if not lines:
        raise DataError(f"{corpus.name} is empty; expected a header line and rows of values")
    header, second = lines[0], lines[-1]
    are_numbers = all(map(is_number, header[1:]))
    if "series" in corpus.columns and not names_series(header, corpus.options):
        names = [cell.strip() for cell in header]
        is_timed = named_like(names[:1], TIME_NAMES) is not None
        if has_own_columns(names, corpus.options, "series") and (is_timed or not are_numbers):
            return WIDE
        if are_numbers or is_label_header(header[0]):
            return LABEL_FIRST
    if is_long_table(header, corpus.options, corpus.columns, corpus.name):
        return LONG
    return RAGGED if _is_ragged(header, second) else WIDE


def _is_ragged(header: list[str], second: list[str]) -> bool:
    """Whether each line is a series: its name and then its values."""
    if is_ragged_header(header):
        return True
    begins_named = not any(
        is_number(fields[0]) or looks_dated(fields[0]) for fields in (header, second)
    )
    is_timed = named_like(header[:1], TIME_NAMES) is not None
    return begins_named and not is_timed and len(header) > 1 and all(map(is_number, header[1:]))


SERIES = FileFormat(
    "series in a table with commas, tabs or semicolons: wide, long, ragged or ucr, as its "
    "first lines show",
    read_by_header,
    rows="series",
)
WIDE = FileFormat(
    "a series: a row for each time, with a header line and a column for each quantity",
    read_wide,
    rows="series",
)
LONG = FileFormat(
    "many series: a row for each series and time, with a column that names the series",
    read_long,
    rows="series",
)

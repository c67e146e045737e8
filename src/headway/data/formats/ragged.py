"""Series of different lengths without times: a line for each, its name and then its values (M4)."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ...config.messages import counted
from ...errors import ConfigError, DataError
from ..frequency import Frequency
from ..series import Series, filled
from .format import CorpusFiles, FileFormat, Note, Row, SeriesOptions
from .series_table import MISSING, is_number, parse_numbers, split_rows, wrong_number

PLACES_SHOWN = 3
COLUMN = "value"
"""The name of the only column."""
_HEADER = re.compile(r"V\d+", re.I)


def is_ragged_header(fields: Sequence[str]) -> bool:
    """Whether a line is the header of M4's files: V1, V2, ..."""
    return len(fields) > 1 and all(_HEADER.fullmatch(text) for text in fields)


def read_ragged(corpus: CorpusFiles) -> Iterator[Row]:
    """One row for each line."""
    check_target_alone(corpus, "ragged")
    frequency = number_frequency(corpus.options)
    earlier = {}
    for name, path in corpus.files[1:]:
        earlier = {series: values for series, values, _ in _lines(path, name)}
    for name, values, where in _lines(corpus.path, corpus.name):
        before = earlier.get(name, np.empty(0))
        if earlier and name not in earlier:
            raise DataError(f"{where}: the series {name!r} is not in {corpus.files[1][0]}")
        joined = np.concatenate([before, values])[:, None]
        is_missing = np.isnan(values)
        if is_missing.any() and corpus.options.missing == "error":
            raise DataError(
                f"{where}: {counted(int(is_missing.sum()), 'value')} missing; set missing to "
                '"mask" or "fill"'
            )
        notes = missing_notes(int(is_missing.sum()), COLUMN, where, corpus.options)
        if corpus.options.missing == "fill":
            joined = filled(joined)
        series = Series(name, (COLUMN,), joined, 0, frequency, len(before))
        yield Row((series,), where, notes)


def missing_notes(count: int, column: str, where: str, options: SeriesOptions) -> tuple[Note, ...]:
    """The note about missing values of a line, if it has some."""
    done = ", filled" if options.missing == "fill" else ""
    note = Note(f"missing values in column {column!r}{done}", count, (where,))
    return (note,) if count else ()


def check_target_alone(corpus: CorpusFiles, form: str) -> None:
    """Refuses columns and options that need a header."""
    options = corpus.options
    unknown = [column for column in corpus.columns if column != "target"]
    given = [column for column, entry in corpus.columns.items() if entry is not None]
    given += [name for name in ("id", "time") if getattr(options, name) is not None]
    if unknown or given:
        raise ConfigError(
            f"{corpus.name}: {[*unknown, *given][0]} needs a column, and format {form!r} has "
            "values alone; leave it out, or use a long table"
        )


def number_frequency(options: SeriesOptions) -> Frequency:
    """The frequency of a format without times."""
    if options.frequency is None:
        return Frequency("step")
    try:
        return Frequency.parse(options.frequency)
    except ValueError as error:
        raise ConfigError(f"frequency = {options.frequency!r}: {error}") from None


def _lines(path: Path, name: str) -> Iterator[tuple[str, np.ndarray, str]]:
    """Name, values and place of each line; empty cells at the end belong to longer lines."""
    places: dict[str, str] = {}
    for i, (number, fields) in enumerate(split_rows(path, name)):
        where = f"{name}:{number}"
        if i == 0 and (is_ragged_header(fields) or not any(map(is_number, fields[1:]))):
            continue
        series, cells = fields[0].strip(), fields[1:]
        if series in places:
            raise DataError(
                f"{where}: the series {series!r} is also in {places[series]}; give it another name"
            )
        places[series] = where
        while cells and cells[-1].strip().lower() in MISSING:
            cells.pop()
        yield series, finite_numbers(cells, where), where


def finite_numbers(cells: Sequence[str], where: str, first: int = 2) -> np.ndarray:
    """Numbers of cells, NaN if missing.

    Args:
        first: the number of the first cell, for messages.

    Raises:
        DataError: a cell is text, or infinite.
    """
    numbers, is_text = parse_numbers(cells)
    is_wrong = is_text | np.isinf(numbers)
    if is_wrong.any():
        i = int(is_wrong.argmax())
        raise DataError(f"{where}: {cells[i]!r} in cell {i + first} {wrong_number(cells[i])}")
    return numbers


RAGGED = FileFormat(
    "many series without times: a line for each, its name and then its values, as in M4",
    read_ragged,
    rows="series",
)

"""Series for a trained forecaster: of its own data, of a file, of a text or of plain lists."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..data.codecs.codec import Codec
from ..data.config import Corpus, DataConfig, as_corpora, column_of, learned_from
from ..data.formats import FORMATS
from ..data.formats.format import (
    ColumnEntry,
    CorpusFiles,
    Note,
    RepeatedTime,
    Row,
    SeriesOptions,
    UnknownStep,
    counted_notes,
)
from ..data.formats.read import read
from ..data.formats.series_layout import ID_NAMES, named_like
from ..data.formats.series_rows import rows_of
from ..data.formats.series_table import Cells, SeriesTable, is_number, split_rows
from ..data.series import Series
from ..data.times import parse_times, time_texts
from ..errors import ConfigError, DataError

SeriesRow = Mapping[str, Series]
"""A series by column of the data: `target`, `past`, `known`, `static`."""
Cell = float | str | None
Result = TypeVar("Result")
TS_MARKS = ("@", "#", "%")
"""How the first line of a .ts file begins."""
TABLE = "series"
"""The format that is found by the first lines of a table."""
TIMES = "times of the series"
"""The header of the times of plain lists, which no column has."""


@dataclass(frozen=True)
class SeriesFile:
    """The series of a corpus by column, the location of each, and what was found in them."""

    rows: list[SeriesRow]
    places: list[str]
    notes: list[Note]

    @property
    def warnings(self) -> list[str]:
        """What users should know, such as missing values."""
        return [str(note) for note in self.notes if note.is_warning]


def read_series(
    corpus: Corpus, columns: Sequence[str], root: Path, step: str | None = None
) -> SeriesFile:
    """The series of a corpus, with the notes that count something, such as missing values.

    Args:
        step: the frequency of series with too few rows to show it: that of the training data.
    """

    def rows_with(frequency: str | None) -> list[Row]:
        return list(read(replace(corpus, frequency=frequency), columns, root))

    rows = with_step(rows_with, corpus.frequency, step)
    return SeriesFile(*_by_column(rows, columns, str(corpus.file)), counted_notes(rows))


def with_step(read: Callable[[str | None], Result], own: str | None, step: str | None) -> Result:
    """What `read` makes with a frequency: its own, or `step` if the rows do not show one."""
    try:
        return read(own)
    except UnknownStep:
        if step is None:
            raise
        return read(step)


def corpora_of(
    data: DataConfig, file: str | None, form: str | None = None, history: str | None = None
) -> tuple[list[Corpus], Path]:
    """The corpora to forecast, whole, and the folder of relative names.

    Args:
        data: of the run. Without a file, its newest data: those of the test, or else of the
            validation.
        form: the format of `file`, if its extension does not determine it.
        history: a file that `file` continues.

    Raises:
        ConfigError: there is a history without a file.
    """
    if file is None:
        if history is not None:
            raise ConfigError("`history` needs a file; name the file that continues it")
        latest = as_corpora(data.test, "data.test") or as_corpora(data.valid, "data.valid")
        newest = latest or learned_from(data)
        return [replace(corpus, part=None) for corpus in newest], Path(data.root or ".")
    return [replace(corpus_like(data), file=file, format=form or "auto", history=history)], Path()


def corpus_like(data: DataConfig) -> Corpus:
    """How files and frames are read that have the columns of the training data."""
    trained = next(iter(learned_from(data)), Corpus())
    reading = replace(trained, part=None, split=None, weight=1.0)
    return replace(reading, file=None, format="auto", history=None)


def without_labels(corpus: Corpus, columns: Sequence[str]) -> Corpus:
    """How a file of series is read that may have labels or values, and may have none.

    Args:
        columns: the columns of the task; the last is not read.
    """
    name = columns[-1]
    return replace(corpus, **{name: column_of(corpus, name) or name})  # type: ignore[arg-type]


def text_series(
    text: str,
    name: str,
    data: DataConfig,
    codecs: Mapping[str, Codec],
    most_steps: int,
    step: str | None = None,
) -> SeriesFile:
    """The series of a table as text. Columns that the model does not know are left out.

    Args:
        name: of the table, in messages.
        codecs: of the columns of the data.
        step: as in `read_series`.

    Raises:
        DataError: it is no table of such series.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "series.csv"
        path.write_text(text, encoding="utf-8")
        if "series" in codecs and text.lstrip()[:1] in TS_MARKS:
            rows = list(FORMATS["ts"].read(CorpusFiles([(name, path)], {"series": None})))
            return SeriesFile(*_by_column(rows, list(codecs), name), counted_notes(rows))
        header = next(iter(islice(split_rows(path, name), 1)), (1, []))[1]
        header = [cell.strip() for cell in header]
        entries, options = _entries(data, codecs, header)
        table = FORMATS[_table_of(header, entries, options)]

        def rows_with(frequency: str | None) -> list[Row]:
            used = replace(options, most_steps=most_steps, frequency=frequency)
            return list(table.read(CorpusFiles([(name, path)], entries, options=used)))

        with _of_a_request():
            rows = with_step(rows_with, options.frequency, step)
    return SeriesFile(*_by_column(rows, list(codecs), name), counted_notes(rows))


def _table_of(
    header: Sequence[str], entries: Mapping[str, ColumnEntry], options: SeriesOptions
) -> str:
    """The format of a table; a header with the columns of a labelled series is no series itself."""
    own = entries.get("series")
    is_header = isinstance(own, list) and not all(map(is_number, header))
    is_long = options.id is not None or named_like(header, ID_NAMES) is not None
    return "wide" if is_header and not is_long else TABLE


def _entries(
    data: DataConfig, codecs: Mapping[str, Codec], header: Sequence[str]
) -> tuple[dict[str, ColumnEntry], SeriesOptions]:
    """The columns to read from a table: those of the training data if the header has them."""
    [corpus, *_] = [*learned_from(data), Corpus()]
    names = {column: list(codec.names) for column, codec in codecs.items()}  # type: ignore[attr-defined]
    entries: dict[str, ColumnEntry] = {
        column: own if set(own) <= set(header) else column_of(corpus, column)
        for column, own in names.items()
    }

    def known(entry: str | int | list[str] | None) -> Any:
        wanted = entry if isinstance(entry, list) else [entry]
        return entry if all(name in header for name in wanted) else None

    options = SeriesOptions(
        *(known(corpus.id), known(corpus.time), corpus.frequency),
        *(corpus.missing or "mask", corpus.repeated or "error"),
    )
    return entries, options


def list_series(
    name: str,
    where: str,
    times: Sequence[str | int] | None,
    columns: Mapping[str, Mapping[str, Sequence[Cell]]],
    frequency: str | None,
    most_steps: int,
    step: str | None = None,
) -> tuple[SeriesRow, list[Note]]:
    """The series of plain lists, and the notes that count something.

    Args:
        where: the name of the series in messages.
        times: of the longest column, or of the values alone if only those known in the future are
            longer; None numbers the steps.
        columns: the values by name, for each column of the data. None is a missing value; the
            other columns end before those that are known in the future.
        step: as in `read_series`.

    Raises:
        DataError: the lists do not fit each other, or hold something else.
    """
    lists = {n: cells for group in columns.values() for n, cells in group.items()}
    n_steps = max((len(cells) for cells in lists.values()), default=0)
    if not n_steps:
        raise DataError(f"{where} has no values; give at least one")
    entries = {column: list(group) for column, group in columns.items()}

    def read_with(stamps: Cells | None, frequency: str | None) -> Row:
        n = n_steps if stamps is None else len(stamps)
        header, cells = list(lists), [_cells(each, n) for each in lists.values()]
        if stamps is not None:
            header, cells = [TIMES, *header], [stamps, *cells]
        table = SeriesTable(header, cells, [(f"{where}: value ", np.arange(1, n + 1))])
        options = SeriesOptions(
            time=None if stamps is None else TIMES, frequency=frequency, most_steps=most_steps
        )
        [row] = rows_of(table, entries, options, is_long=False)
        return row

    stamps = None if times is None else [str(time) for time in times]
    is_short = stamps is not None and len(stamps) != n_steps
    if is_short and len(stamps or ()) != _n_until_now(columns):
        raise DataError(
            f"{where} has {len(stamps or ())} times and {n_steps} values; give a time for each "
            "value, or for each value before the future of those that are known"
        )
    with _of_a_request():
        row = with_step(lambda own: read_with(stamps, own), frequency, step)
    if is_short:
        grid: Series = row.values[0]
        row = read_with(_continued(stamps or (), row, n_steps), str(grid.frequency))
    series = zip(columns, row.values, strict=True)
    found = {column: replace(value, name=name) for column, value in series}
    return found, counted_notes([row])


@contextmanager
def _of_a_request() -> Iterator[None]:
    """Leaves out of a message what only a run file can do."""
    try:
        yield
    except RepeatedTime as error:
        raise DataError(f"{error.problem}; remove one") from None


def _n_until_now(columns: Mapping[str, Mapping[str, Sequence[Cell]]]) -> int:
    """The length of the longest list that ends before the forecast."""
    groups = [columns.get(name, {}) for name in ("target", "past")]
    return max((len(cells) for group in groups for cells in group.values()), default=0)


def _continued(texts: Sequence[str], row: Row, n_steps: int) -> Cells:
    """Times as many as there are steps: those of texts that were read, and the steps after them."""
    longest: Series = max(row.values, key=len)
    after = longest.frequency.times(longest.start, len(longest), n_steps - len(texts))
    times = np.concatenate([parse_times(texts).times, after])
    return times if times.dtype.kind == "M" else [str(time) for time in times.tolist()]


def _cells(values: Sequence[Cell], n_steps: int) -> Cells:
    """A column of a table, with missing values at its end, or cut after `n_steps`."""
    padded = [*values[:n_steps], *[None] * (n_steps - len(values))]
    if any(isinstance(value, str) for value in padded):
        return ["" if value is None else str(value) for value in padded]
    return np.array([np.nan if value is None else value for value in padded], float)


def _by_column(
    rows: Sequence[Row], columns: Sequence[str], name: str
) -> tuple[list[SeriesRow], list[str]]:
    if not rows:
        raise DataError(f"{name} has no series; give a file with some")
    series: list[SeriesRow] = [dict(zip(columns, row.values, strict=True)) for row in rows]
    return series, [row.where for row in rows]


def last_window(row: SeriesRow, n_steps: int) -> SeriesRow:
    """A series with its last steps alone; facts that do not change stay."""
    first = max(0, len(row["target"]) - n_steps)
    return {
        name: series if name == "static" else _from(series, first) for name, series in row.items()
    }


def _from(series: Series, first: int) -> Series:
    start = series.frequency.times(series.start, first, 1)[0]
    return replace(
        series,
        values=series.values[first:],
        start=start if isinstance(start, np.datetime64) else int(start),
        history=0,
    )


def as_csv(row: SeriesRow) -> str:
    """A series as the text of a table, as `text_series` reads it."""
    longest = max(len(series) for series in row.values())
    target = row["target"]
    times = time_texts(target.frequency.times(target.start, 0, longest))
    lines = [["date" if target.times.dtype.kind == "M" else "time"], *([time] for time in times)]
    for series in row.values():
        is_fact = len(series) == 1 < longest
        for name, values in zip(series.columns, series.values.T, strict=True):
            cells = [_text(value) for value in values]
            cells = cells * longest if is_fact else [*cells, *[""] * (longest - len(cells))]
            for line, cell in zip(lines, [name, *cells], strict=True):
                line.append(cell)
    return "".join(",".join(map(_quoted, line)) + "\n" for line in lines)


def _text(value: Any) -> str:
    if value is None or value != value:
        return ""
    return value if isinstance(value, str) else np.format_float_positional(value, trim="-")


def _quoted(cell: str) -> str:
    if any(mark in cell for mark in ',"\n\t;'):
        return '"' + cell.replace('"', '""') + '"'
    return cell

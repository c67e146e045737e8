"""Series for a trained forecaster: of its own data, of a file, of a text or of plain lists."""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..config.messages import counted
from ..data.codecs.codec import Codec
from ..data.codecs.series import SeriesCodec, names_of
from ..data.config import (
    AUTO,
    Corpus,
    DataConfig,
    as_corpora,
    column_of,
    format_by_extension,
    learned_from,
)
from ..data.formats import FORMATS
from ..data.formats.format import (
    CorpusFiles,
    Note,
    RepeatedTime,
    Row,
    SeriesOptions,
    UnknownStep,
    notes_of,
)
from ..data.formats.read import options_of, read
from ..data.formats.series_rows import rows_of
from ..data.formats.series_table import Cells, SeriesTable
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
NO_HEADER = ("ts", "npz", "ucr", "ragged")
"""Formats whose columns have no names."""
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
    corpus: Corpus, codecs: Mapping[str, Codec], root: Path, step: str | None = None
) -> SeriesFile:
    """The series of a corpus, with the notes that count something or warn.

    Args:
        codecs: of the columns of the data. A file has them in any order, and may have others.
        step: the frequency of series with too few rows to show it: that of the training data.
    """

    def rows_with(frequency: str | None) -> list[Row]:
        used = replace(corpus, frequency=frequency)
        return list(read(used, tuple(codecs), root, names_of(codecs)))

    rows = with_step(rows_with, corpus.frequency, step)
    return _file_of(rows, codecs, str(corpus.file))


def with_step(read: Callable[[str | None], Result], own: str | None, step: str | None) -> Result:
    """What `read` makes with a frequency: its own, or `step` if the rows do not show one."""
    try:
        return read(own)
    except UnknownStep:
        if step is None:
            raise
        return read(step)


def _file_of(rows: Sequence[Row], codecs: Mapping[str, Codec], name: str) -> SeriesFile:
    """Rows as series, with their notes."""
    series, places = _by_column(rows, tuple(codecs), name)
    return SeriesFile(series, places, [*notes_of(rows), *_unknown_categories(series, codecs)])


def _unknown_categories(rows: Sequence[SeriesRow], codecs: Mapping[str, Codec]) -> list[Note]:
    """Notes that count the categories that training has not seen."""
    counts: Counter[str] = Counter()
    for row in rows:
        for name, codec in codecs.items():
            if isinstance(codec, SeriesCodec) and row[name].columns == codec.names:
                counts.update(codec.n_unknown(row[name]))
    return [
        Note(f"values of column {name!r} that training has not seen, read as missing", count)
        for name, count in counts.items()
    ]


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
    return [replace(file_like(corpus_like(data), file, form), history=history)], Path()


def corpus_like(data: DataConfig) -> Corpus:
    """How files and frames are read that have the columns of the training data."""
    trained = next(iter(learned_from(data)), Corpus())
    return replace(trained, part=None, split=None, weight=1.0, history=None)


def file_like(corpus: Corpus, file: str, form: str | None = None) -> Corpus:
    """A file that is read like a corpus.

    Args:
        form: its format, if its extension does not determine it.
    """
    known = format_by_extension(file)
    if (form or known) in NO_HEADER:
        return Corpus(file=file, format=form or AUTO)
    is_alike = corpus.file is not None and known == format_by_extension(corpus.file)
    return replace(corpus, file=file, format=form or (corpus.format if is_alike else AUTO))


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
            return _file_of(rows, codecs, name)
        corpus = corpus_like(data)
        options = options_of(corpus, tuple(codecs), names_of(codecs))
        entries = {column: column_of(corpus, column) for column in codecs}

        def rows_with(frequency: str | None) -> list[Row]:
            used = replace(options, most_steps=most_steps, frequency=frequency)
            files = CorpusFiles([(name, path)], entries, options=used)
            return list(FORMATS[TABLE].read(files))

        with _of_a_request():
            rows = with_step(rows_with, options.frequency, step)
        _refuse_guess(rows, name)
    return _file_of(rows, codecs, name)


def list_series(
    name: str,
    where: str,
    times: Sequence[str | int] | None,
    columns: Mapping[str, Mapping[str, Sequence[Cell]]],
    frequency: str | None,
    most_steps: int,
    day_first: bool | None = None,
    step: str | None = None,
) -> tuple[SeriesRow, list[Note]]:
    """The series of plain lists, and the notes that count something or warn.

    Args:
        where: the name of the series in messages.
        times: of the longest column, or of the values alone if only those known in the future are
            longer; None numbers the steps.
        columns: the values by name, for each column of the data. None is a missing value; the
            other columns end before those that are known in the future.
        day_first: the order of day and month in the training data, if they show one.
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
            time=None if stamps is None else TIMES,
            day_first=day_first,
            frequency=frequency,
            most_steps=most_steps,
        )
        [row] = rows_of(table, entries, options, is_long=False)
        return row

    stamps = None if times is None else [str(time) for time in times]
    is_short = stamps is not None and len(stamps) != n_steps
    if is_short and len(stamps or ()) != _n_until_now(columns):
        raise DataError(
            f"{where} has {counted(len(stamps or ()), 'time')} and {counted(n_steps, 'value')}; "
            "give a time for each value, or for each value before the future of those that are "
            "known"
        )
    with _of_a_request():
        row = with_step(lambda own: read_with(stamps, own), frequency, step)
    _refuse_guess([row], where)
    if is_short:
        grid: Series = row.values[0]
        row = read_with(_continued(stamps or (), row, n_steps), str(grid.frequency))
    series = zip(columns, row.values, strict=True)
    found = {column: replace(value, name=name) for column, value in series}
    return found, notes_of([row])


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
    order = row.facts.order if row.facts is not None else None
    day_first = None if order is None else order.day_first
    times = np.concatenate([parse_times(texts, day_first).times, after])
    return times if times.dtype.kind == "M" else [str(time) for time in times.tolist()]


def _refuse_guess(rows: Sequence[Row], name: str) -> None:
    """Refuses dates of a request that fit two orders, and whose sender can write others."""
    facts = rows[0].facts if rows else None
    if facts is not None and facts.order is not None and facts.order.is_guess:
        raise DataError(
            f"{name}: the dates may begin with the day or the month, and the training data show "
            "neither; write dates such as 2024-05-03"
        )


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

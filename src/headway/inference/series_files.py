"""Series for a trained forecaster: of its own data, of a file, of a text or of plain lists."""

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

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
from ..data.formats.format import WARNING, CorpusFiles, Note, Row, SeriesOptions, add_notes
from ..data.formats.read import options_of, read
from ..data.formats.series_rows import rows_of
from ..data.formats.series_table import Cells, SeriesTable
from ..data.series import Series
from ..data.times import time_texts
from ..errors import ConfigError, DataError

SeriesRow = Mapping[str, Series]
"""A series by column of the data: `target`, `past`, `known`, `static`."""
Cell = float | str | None
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
        """The notes that question the data, as the text of a warning."""
        return [str(note).removeprefix(WARNING) for note in self.notes if note.is_warning]


def read_series(corpus: Corpus, codecs: Mapping[str, Codec], root: Path) -> SeriesFile:
    """The series of a corpus, with the notes that count something or warn.

    Args:
        codecs: of the columns of the data. A file has them in any order, and may have others.
    """
    rows = list(read(corpus, tuple(codecs), root, names_of(codecs)))
    notes: dict[str, Note] = {}
    for row in rows:
        add_notes(notes, row.notes)
    found = [note for note in notes.values() if note.count or note.is_warning]
    series, places = _by_column(rows, tuple(codecs), str(corpus.file))
    return SeriesFile(series, places, [*found, *_unknown_categories(series, codecs)])


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
    text: str, name: str, data: DataConfig, codecs: Mapping[str, Codec], most_steps: int
) -> tuple[list[SeriesRow], list[str]]:
    """The series of a table as text. Columns that the model does not know are left out.

    Args:
        name: of the table, in messages.
        codecs: of the columns of the data.

    Raises:
        DataError: it is no table of such series.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "series.csv"
        path.write_text(text, encoding="utf-8")
        if "series" in codecs and text.lstrip()[:1] in TS_MARKS:
            rows = list(FORMATS["ts"].read(CorpusFiles([(name, path)], {"series": None})))
            return _by_column(rows, list(codecs), name)
        corpus = corpus_like(data)
        options = options_of(corpus, tuple(codecs), names_of(codecs))
        files = CorpusFiles(
            [(name, path)],
            {column: column_of(corpus, column) for column in codecs},
            options=replace(options, most_steps=most_steps),
        )
        rows = list(FORMATS[TABLE].read(files))
        _refuse_guess(rows, name)
    return _by_column(rows, list(codecs), name)


def list_series(
    name: str,
    where: str,
    times: Sequence[str | int] | None,
    columns: Mapping[str, Mapping[str, Sequence[Cell]]],
    frequency: str | None,
    most_steps: int,
    day_first: bool | None = None,
) -> SeriesRow:
    """The series of plain lists.

    Args:
        where: the name of the series in messages.
        times: of the longest column; None numbers the steps.
        columns: the values by name, for each column of the data. None is a missing value; the
            other columns end before those that are known in the future.
        day_first: the order of day and month in the training data, if they show one.

    Raises:
        DataError: the lists do not fit each other, or hold something else.
    """
    lists = {n: cells for group in columns.values() for n, cells in group.items()}
    n_steps = max((len(cells) for cells in lists.values()), default=0)
    if not n_steps:
        raise DataError(f"{where} has no values; give at least one")
    if times is not None and len(times) != n_steps:
        raise DataError(
            f"{where} has {len(times)} times and {n_steps} values; give a time for each value"
        )
    header, cells = list(lists), [_cells(each, n_steps) for each in lists.values()]
    if times is not None:
        header, cells = [TIMES, *header], [[str(time) for time in times], *cells]
    table = SeriesTable(header, cells, [(f"{where}: value ", np.arange(1, n_steps + 1))])
    options = SeriesOptions(
        time=None if times is None else TIMES,
        day_first=day_first,
        frequency=frequency,
        most_steps=most_steps,
    )
    entries = {column: list(group) for column, group in columns.items()}
    [row] = rows_of(table, entries, options, is_long=False)
    _refuse_guess([row], where)
    series = zip(columns, row.values, strict=True)
    return {column: replace(value, name=name) for column, value in series}


def _refuse_guess(rows: Sequence[Row], name: str) -> None:
    """Refuses dates of a request that fit two orders: it has no room for a warning."""
    facts = rows[0].facts if rows else None
    if facts is not None and facts.order is not None and facts.order.is_guess:
        raise DataError(
            f"{name}: the dates may begin with the day or the month, and the training data show "
            "neither; write dates such as 2024-05-03"
        )


def _cells(values: Sequence[Cell], n_steps: int) -> Cells:
    """A column of a table, with missing values at its end."""
    padded = [*values, *[None] * (n_steps - len(values))]
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
    return value if isinstance(value, str) else f"{value:.10g}"


def _quoted(cell: str) -> str:
    if any(mark in cell for mark in ',"\n\t;'):
        return '"' + cell.replace('"', '""') + '"'
    return cell

"""Series with a class or a number: UCR's lines, UEA's .ts files and NumPy's .npz archives."""

import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...config.messages import counted
from ...errors import ConfigError, DataError
from ...file_limits import check_unpacked
from ..frequency import Frequency
from ..series import Series, filled
from .format import CorpusFiles, FileFormat, Note, Row
from .lines import read_lines
from .ragged import finite_numbers, missing_notes, number_frequency
from .series_table import separator_of

BROKEN_ARCHIVE = (
    *(OSError, ValueError, KeyError, EOFError, MemoryError, zipfile.BadZipFile, zlib.error),
    *(RuntimeError, NotImplementedError),  # encrypted, packed in another way
)


@dataclass(frozen=True)
class _LabelledSeries:
    """The maker of rows of a corpus."""

    corpus: CorpusFiles
    form: str

    def check(self, columns: Sequence[str] = ("series", "label", "value")) -> None:
        """Refuses columns and options that the format has no use for."""
        corpus, options = self.corpus, self.corpus.options
        unknown = [column for column in corpus.columns if column not in columns]
        if unknown:
            raise ConfigError(
                f"{corpus.name}: format {self.form!r} has no {unknown[0]}; it is for tasks that "
                "classify series, or give them a value"
            )
        given = [column for column, entry in corpus.columns.items() if entry is not None]
        given += [name for name in ("id", "time") if getattr(options, name) is not None]
        given += ["history"] if len(corpus.files) > 1 else []
        if given:
            raise ConfigError(
                f"{corpus.name}: {given[0]} is given, but format {self.form!r} has fixed places "
                "for everything; leave it out"
            )

    def row(self, values: np.ndarray, label: str | None, where: str) -> Row:
        """The row of values (T, C)."""
        options = self.corpus.options
        names = tuple(str(c) for c in range(1, values.shape[1] + 1))
        notes: tuple[Note, ...] = ()
        for c, count in enumerate(np.isnan(values).sum(axis=0).tolist()):
            if count and options.missing == "error":
                raise DataError(
                    f'{where}: {counted(count, "value")} missing; set missing to "mask" or "fill"'
                )
            notes += missing_notes(count, names[c], where, options)
        values = filled(values) if options.missing == "fill" else values
        series = Series("", names, values, 0, self.frequency)
        if label is None and len(self.corpus.columns) > 1:
            raise DataError(f"{where}: the series has no class or value, which the task needs")
        row = tuple(series if column == "series" else label for column in self.corpus.columns)
        return Row(row, where, notes)

    @property
    def frequency(self) -> Frequency:
        return number_frequency(self.corpus.options)


def read_label_first(corpus: CorpusFiles) -> Iterator[Row]:
    """One row for each line: its label and its values, without empty cells at the end."""
    make = _LabelledSeries(corpus, "ucr")
    make.check()
    for number, line in enumerate(read_lines(corpus.path, corpus.name), 1):
        if not line.strip():
            continue
        where = f"{corpus.name}:{number}"
        separator = separator_of(line)
        fields = line.split(separator) if separator in line else line.split()
        label, *cells = (text.strip() for text in fields)
        if number == 1 and is_label_header(label):
            continue
        values = without_end(finite_numbers(cells, where)[:, None])
        if not len(values):
            raise DataError(f"{where}: a label without values; expected the label and then numbers")
        yield make.row(values, label, where)


def is_label_header(first: str) -> bool:
    """Whether the first cell of a file is the name of the labels."""
    return first.strip().lower() in ("label", "class", "target", "y")


def without_end(values: np.ndarray) -> np.ndarray:
    """Values (T, C) up to the last step with a number; padding of shorter series is NaN."""
    known = np.flatnonzero(~np.isnan(values).all(axis=1))
    return values[: known[-1] + 1] if len(known) else values[:0]


@dataclass
class _Directives:
    """The header of a .ts file."""

    has_label: bool = False
    dimensions: int | None = None
    labels: list[str] = field(default_factory=list)

    def read(self, line: str, where: str) -> None:
        """Takes a line that starts with @."""
        name, *words = line[1:].split() or [""]
        is_true = bool(words) and words[0].lower() == "true"
        match name.lower():
            case "classlabel" | "targetlabel":
                self.has_label = is_true
                self.labels = words[1:] if name.lower() == "classlabel" else []
            case "timestamps" if is_true:
                raise DataError(
                    f"{where}: values with time stamps are not read; write the values alone, with "
                    "@timeStamps false"
                )
            case "univariate" if is_true:
                self.dimensions = 1
            case "dimensions" | "dimension" if words and words[0].isdecimal():
                self.dimensions = int(words[0][:9])


def read_ts(corpus: CorpusFiles) -> Iterator[Row]:
    """One row for each series of a .ts file."""
    make = _LabelledSeries(corpus, "ts")
    make.check()
    directives, is_data = _Directives(), False
    for number, line in enumerate(read_lines(corpus.path, corpus.name), 1):
        line, where = line.strip(), f"{corpus.name}:{number}"
        if not line or line.startswith(("#", "%")):
            continue
        if line.startswith("@") and not is_data:
            is_data = line.lower().startswith("@data")
            directives.read(line, where)
        elif not is_data:
            raise DataError(f"{where}: expected a line such as @data before the series")
        else:
            yield _case(line, directives, make, where)
    if not is_data:
        raise DataError(f"{corpus.name}: no line @data; is this a .ts file?")


def _case(line: str, directives: _Directives, make: _LabelledSeries, where: str) -> Row:
    """The row of a line of data."""
    parts = line.split(":")
    label = parts.pop().strip() if directives.has_label else None
    if label is not None and directives.labels and label not in directives.labels:
        raise DataError(
            f"{where}: the class {label!r} is not one of @classLabel, "
            f"{', '.join(directives.labels)}; is it missing at the end of the line?"
        )
    expected = directives.dimensions or max(len(parts), 1)
    directives.dimensions = expected
    if len(parts) != expected:
        raise DataError(
            f"{where}: {counted(len(parts), 'dimension')} where {expected} were expected; they are "
            "separated by colons"
        )
    columns = [finite_numbers(part.split(","), where, first=1) for part in parts]
    lengths = {len(column) for column in columns}
    if len(lengths) != 1:
        raise DataError(
            f"{where}: dimensions of {min(lengths)} to {max(lengths)} values; all dimensions of a "
            "series need the same number"
        )
    values = np.stack(columns, axis=1)  # (T, C)
    if np.isnan(values).all():
        raise DataError(f"{where}: the series has no values")
    return make.row(values, label, where)


def read_npz(corpus: CorpusFiles) -> Iterator[Row]:
    """One row for each series of the arrays X (n, T) or (n, C, T), with its label in y (n)."""
    make = _LabelledSeries(corpus, "npz")
    make.check()
    x, y = _arrays(corpus)
    for i, values in enumerate(x):
        where = f"{corpus.name}: series {i + 1}"
        values = np.atleast_2d(values).T.astype(np.float64)  # (T, C)
        if np.isinf(values).any():
            raise DataError(f"{where}: a value is infinite; expected finite numbers or NaN")
        values = without_end(values)
        if not len(values):
            raise DataError(f"{where}: the series has no values")
        yield make.row(values, None if y is None else str(y[i]), where)


def _arrays(corpus: CorpusFiles) -> tuple[np.ndarray, list[Any] | None]:
    """The arrays X and y of an archive."""
    expected = "expected arrays X (n, T) or (n, C, T) of numbers and y (n), saved with numpy.savez"
    try:
        with zipfile.ZipFile(corpus.path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        check_unpacked(corpus.path.stat().st_size, size)
        with np.load(corpus.path, allow_pickle=False) as arrays:
            x = arrays["X"]
            y = arrays.get("y")
    except BROKEN_ARCHIVE as error:
        raise DataError(f"{corpus.name}: cannot be read ({error}); {expected}") from None
    is_fitting = x.ndim in (2, 3) and x.dtype.kind in "fiub"
    if not is_fitting or (y is not None and y.shape != x.shape[:1]):
        shape = "" if y is None else f" and y {y.shape}"
        raise DataError(f"{corpus.name}: X is {x.shape} of {x.dtype}{shape}; {expected}")
    return x, None if y is None else y.tolist()


LABEL_FIRST = FileFormat(
    "series with a class or a value: a line for each, the class first, as in the UCR archive",
    read_label_first,
    rows="series",
)
TS = FileFormat(
    "series with a class or a value, as in the UCR and UEA archives",
    read_ts,
    extensions=(".ts",),
    rows="series",
)
NPZ = FileFormat(
    "series with a class or a value: arrays X (n, T) or (n, C, T) and y (n) of NumPy",
    read_npz,
    extensions=(".npz",),
    rows="series",
)

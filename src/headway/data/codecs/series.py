"""The codec of series: numbers standardised by column, and categories as one number per category.

Means and deviations are those of the training data. A missing value stays missing (NaN); what a
model reads in its place is left to `headway.data.windows`. Encodings are float64: beside series of
millions, float32 would round away those of thousandths, which are scaled by themselves later.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import DataError, RunError
from ..scales import deviations
from ..series import Series
from ..store import Column
from .codec import Codec
from .values import LARGEST, number

MOST_CATEGORIES = 256
SHOWN = 8


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers with its mean and deviation in the training data.

    Attributes:
        is_constant: whether it has one value there, or none; the deviation is then 1.
    """

    name: str
    mean: float = 0.0
    deviation: float = 1.0
    is_constant: bool = False

    width = 1

    def encode(self, values: np.ndarray) -> np.ndarray:
        """Values (T,) -> standardised values (T, 1); NaN where there is no number."""
        if values.dtype == object:
            values = np.array([_number(value) for value in values])
        return ((values - self.mean) / self.deviation)[:, None]

    def complaint(self, values: np.ndarray) -> str | None:
        """What is wrong with values (T,): a text that is no number, or a number too large."""
        if values.dtype != object:
            return _too_large(self.name, values)
        for text in values:
            if text is not None and number(text) is None:
                return (
                    f"column {self.name!r} has {text!r}, and in the training data it has numbers "
                    "alone; correct it, or leave the column out"
                )
        return None

    def decode(self, encoded: np.ndarray) -> str:
        """The text of an encoded value (1,)."""
        value = float(encoded[0]) * self.deviation + self.mean
        return "missing" if math.isnan(value) else f"{value:.6g}"


@dataclass(frozen=True)
class CategoryColumn:
    """A column of names: a column of the encoding for each of them, 1 where it holds."""

    name: str
    categories: tuple[str, ...]

    @property
    def width(self) -> int:
        return len(self.categories)

    def encode(self, values: np.ndarray) -> np.ndarray:
        """Values (T,) -> (T, categories); NaN for a missing category, and for an unknown one."""
        indices = {name: index for index, name in enumerate(self.categories)}
        encoded = np.zeros((len(values), self.width))
        for step, value in enumerate(_names(values)):
            if value in indices:
                encoded[step, indices[value]] = 1.0
            else:
                encoded[step] = np.nan
        return encoded

    def unknown(self, values: np.ndarray) -> np.ndarray:
        """The steps of values (T,) whose category the training data do not have."""
        known = {None, *self.categories}
        return np.array([value not in known for value in _names(values)], bool).nonzero()[0]

    def decode(self, encoded: np.ndarray) -> str:
        """The text of an encoded value (categories,)."""
        if np.isnan(encoded).any():
            return "missing"
        return self.categories[int(encoded.argmax())] if encoded.any() else "unknown"


class SeriesCodec:
    """Series (T, C) as arrays (T, width) of float64.

    Args:
        columns: the columns of the series, in their order.
    """

    marks = 0

    def __init__(self, columns: Sequence[NumberColumn | CategoryColumn]) -> None:
        self.columns = tuple(columns)

    @classmethod
    def fit(cls, series: Iterable[Series], standardise: bool = True) -> "SeriesCodec":
        """The codec of the training data.

        Args:
            standardise: otherwise numbers are stored as they are.

        Raises:
            DataError: the series have different columns, a column of names has too many, or a
                number is too large.
        """
        fit = SeriesFit()
        for one in series:
            fit.add(one)
        return fit.codec(standardise)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def width(self) -> int:
        """Numbers per step of an encoding."""
        return sum(column.width for column in self.columns)

    @property
    def mean(self) -> np.ndarray:
        """The mean of each column of numbers (C,)."""
        return np.array([c.mean for c in self.columns if isinstance(c, NumberColumn)])

    @property
    def deviation(self) -> np.ndarray:
        """The deviation of each column of numbers (C,)."""
        return np.array([c.deviation for c in self.columns if isinstance(c, NumberColumn)])

    def column(self, name: str) -> Column:
        return Column(name, "float64", (self.width,))

    def is_blank(self, value: Series) -> bool:
        return value.is_blank

    def amount(self, value: Series) -> int:
        return int(value.values.size)

    def identity(self, value: Series) -> str:
        return value.digest()

    def encode_batch(self, values: Sequence[Series]) -> list[np.ndarray]:
        return [self.encode(value) for value in values]

    def encode(self, value: Series) -> np.ndarray:
        """The encoding of a series (T, width); of no steps if there is a complaint."""
        if self.complaint(value) is not None:
            return np.empty((0, self.width))
        parts = [c.encode(v) for c, v in zip(self.columns, value.values.T, strict=True)]
        return np.concatenate(parts, axis=1)

    def decode(self, values: Sequence[Any] | np.ndarray) -> str:
        """The last values of the first column of an encoded series, in the units of the data."""
        steps = np.asarray(values, np.float64).reshape(-1, self.width)
        shown = ", ".join(map(self.columns[0].decode, steps[-SHOWN:, : self.columns[0].width]))
        return f"... {shown}" if len(steps) > SHOWN else shown

    def complaint(self, value: Series) -> str | None:
        if value.columns != self.names:
            return _different(value.columns, self.names)
        pairs = zip(self.columns, value.values.T, strict=True)
        problems = (c.complaint(v) for c, v in pairs if isinstance(c, NumberColumn))
        return next(filter(None, problems), None)

    def n_unknown(self, value: Series) -> dict[str, int]:
        """The number of values by column whose category the training data do not have."""
        pairs = zip(self.columns, value.values.T, strict=False)
        found = {c.name: len(c.unknown(v)) for c, v in pairs if isinstance(c, CategoryColumn)}
        return {name: count for name, count in found.items() if count}

    def fingerprint(self) -> str:
        columns = [asdict(column) for column in self.columns]
        for column in columns:
            column.pop("is_constant", None)  # it does not change an encoding
        content = json.dumps(columns)
        return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()

    def save(self, path: Path) -> None:
        """Writes a JSON list of the columns."""
        content = [asdict(column) for column in self.columns]
        path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", "utf-8")

    @classmethod
    def load(cls, path: Path) -> "SeriesCodec":
        try:
            content = json.loads(path.read_text("utf-8"))
            return cls([_load_column(entry) for entry in content])
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise RunError(f"{path} cannot be read ({error}); restore it from a copy") from None


def _names(values: np.ndarray) -> Sequence[str | None]:
    """Values of a column as names, whatever they look like: 1.0 is `1`."""
    found: list[Any] = values.tolist()
    if values.dtype == object:
        return found
    return [None if x != x else repr(int(x) if x.is_integer() else x) for x in found]


def names_of(codecs: Mapping[str, Codec]) -> dict[str, tuple[str, ...]]:
    """The columns of a file that codecs of series read, by column of the data."""
    return {name: codec.names for name, codec in codecs.items() if isinstance(codec, SeriesCodec)}


class SeriesFit:
    """What a codec needs of the training data, of the series seen so far."""

    def __init__(self) -> None:
        self._columns: list[_Fit] = []
        self._names: tuple[str, ...] | None = None

    def add(self, series: Series) -> None:
        """Sees a series.

        Raises:
            DataError: it has other columns than those before, or a number is too large.
        """
        if self._names is None:
            self._names = series.columns
            self._columns = [_Fit(name) for name in series.columns]
        elif series.columns != self._names:
            problem = _different(series.columns, self._names)
            raise DataError(f"{problem}; give all series the same ones")
        for column, values in zip(self._columns, series.values.T, strict=True):
            column.add(values)

    def codec(self, standardise: bool = True) -> SeriesCodec:
        """The codec, as `SeriesCodec.fit`."""
        return SeriesCodec([column.result(standardise) for column in self._columns])


class _Fit:
    """Statistics of a column, over the series seen so far (Chan et al. 1979)."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.n, self.mean, self.squares = 0, 0.0, 0.0
        self.categories: set[str] = set()
        self.has_names = False

    def add(self, values: np.ndarray) -> None:
        if values.dtype == object:
            present = [value for value in values if value is not None]
            self.categories.update(present)
            numbers = np.array([_number(value) for value in present])
            self.has_names = self.has_names or bool(np.isnan(numbers).any())
            values = numbers
        values = values[~np.isnan(values)]
        if not len(values):
            return
        if problem := _too_large(self.name, values):
            raise DataError(problem)
        mean, n = float(values.mean()), len(values)
        step, total = mean - self.mean, self.n + n
        self.squares += float(((values - mean) ** 2).sum()) + step * step * self.n * n / total
        self.mean += step * n / total
        self.n = total

    def result(self, standardise: bool) -> NumberColumn | CategoryColumn:
        if self.has_names:
            if len(self.categories) > MOST_CATEGORIES:
                raise DataError(
                    f"the column {self.name!r} has {len(self.categories)} different names, more "
                    f"than {MOST_CATEGORIES}; it is no category, leave it out"
                )
            return CategoryColumn(self.name, tuple(sorted(self.categories)))
        if not standardise or not self.n:
            return NumberColumn(self.name, is_constant=not self.n)
        mean, variance = np.float64(self.mean), np.float64(self.squares / self.n)
        deviation, is_constant = deviations(mean, variance)
        return NumberColumn(self.name, self.mean, float(deviation), bool(is_constant))


def _number(value: str | None) -> float:
    found = None if value is None else number(value)
    return math.nan if found is None else found


def _too_large(name: str, values: np.ndarray) -> str | None:
    """The complaint about a number that is too large."""
    too_large = values[np.abs(values) > LARGEST]
    if not len(too_large):
        return None
    return (
        f"column {name!r} has {too_large[0]:g}, and numbers must not exceed {LARGEST:g}; correct "
        "it, or use a larger unit"
    )


def _different(got: Sequence[str], expected: Sequence[str]) -> str:
    names = ", ".join(got[:SHOWN]) + (", ..." if len(got) > SHOWN else "")
    wanted = ", ".join(expected[:SHOWN]) + (", ..." if len(expected) > SHOWN else "")
    return f"the columns are {names or 'none'}; expected {wanted}, as in the training data"


def _load_column(entry: dict[str, Any]) -> NumberColumn | CategoryColumn:
    if "categories" in entry:
        return CategoryColumn(str(entry["name"]), tuple(map(str, entry["categories"])))
    mean, deviation = float(entry["mean"]), float(entry["deviation"])
    if not math.isfinite(mean) or not 0 < deviation < math.inf:
        raise ValueError(f"column {entry['name']!r} has no mean and deviation")
    return NumberColumn(str(entry["name"]), mean, deviation, bool(entry.get("is_constant")))


@dataclass(frozen=True)
class Clock:
    """The name of a stored series and the time of its steps.

    Attributes:
        start: the first time as text; an integer as text if steps have numbers only.
        frequency: as `Frequency.parse` reads it.
        history: number of first steps that are never targets.
    """

    name: str
    start: str
    frequency: str
    history: int

    @property
    def first_time(self) -> np.datetime64 | int:
        """The time of the first step."""
        number = self.start.removeprefix("-")
        return int(self.start) if number.isdecimal() else np.datetime64(self.start, "s")


class ClockCodec:
    """The `Clock` of a series, stored as the bytes of its JSON."""

    marks = 0

    def column(self, name: str) -> Column:
        return Column(name, "uint8")

    def is_blank(self, value: Series) -> bool:
        return False

    def amount(self, value: Series) -> int:
        return 1

    def identity(self, value: Series) -> str:
        return value.name

    def encode_batch(self, values: Sequence[Series]) -> list[np.ndarray]:
        return [_bytes_of(value) for value in values]

    def decode(self, values: Sequence[Any]) -> str:
        return bytes(bytearray(values)).decode()

    def complaint(self, value: Series) -> str | None:
        return None

    def fingerprint(self) -> str:
        return "clock with days"


def _bytes_of(series: Series) -> np.ndarray:
    clock = Clock(series.name, str(series.start), str(series.frequency), series.history)
    content = json.dumps(asdict(clock), ensure_ascii=False).encode()
    return np.frombuffer(content, np.uint8)


def clock_of(stored: np.ndarray) -> Clock:
    """The clock that `ClockCodec` has encoded."""
    return Clock(**json.loads(stored.tobytes()))

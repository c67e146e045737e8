"""The input of `classify` and `regress`: series of any length, of one or several columns.

A step of the input has the standardised columns of the series, each missing value as the one before
it; if the training data have gaps, also a mark for each column that is 1 where its value is
missing.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ..data.batching import WARP_STREAM
from ..data.codecs.codec import Codec
from ..data.codecs.series import NumberColumn, SeriesCodec
from ..data.codecs.text import TextConfig
from ..data.frequency import Frequency
from ..data.series import Series
from ..data.store import Store
from ..data.windows import fill_forward
from ..errors import DataError, RunError
from ..models import Vectors
from .base import Rows
from .inputs import Inputs

CODEC, FACTS = "series.json", "steps.json"
COLUMN = "series"
EXAMPLES = 32
"""Series in an update, by default."""
PATCHES, LARGEST_PATCH = 16, 16
"""Patches of a series of usual length, and the most steps of a patch, by default."""
CLASS_VECTOR = "class"
"""The name of a model's class vector."""
KNOTS = 4
"""Points of a series at which a warped time gets a speed."""
SHOWN = 5
AnySeries = Series | np.ndarray
"""A series, or its values (T,) or (T, C)."""


@dataclass(frozen=True)
class SeriesFacts:
    """What the training data say about the steps of their series.

    Attributes:
        shortest, usual, longest: the smallest, the median and the largest number of steps.
        has_gaps: whether values are missing.
    """

    shortest: int
    usual: int
    longest: int
    has_gaps: bool

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", "utf-8")

    @classmethod
    def load(cls, path: Path) -> "SeriesFacts":
        try:
            facts = cls(**json.loads(path.read_text("utf-8")))
            is_sound = 1 <= facts.shortest <= facts.usual <= facts.longest
        except (OSError, ValueError, TypeError) as error:
            raise RunError(f"{path} cannot be read ({error}); restore it from a copy") from None
        if not is_sound:
            raise RunError(f"{path} is damaged; restore it from a copy")
        return facts


class SeriesInputs(Inputs):
    """The series that a model reads, with their codec."""

    columns = (COLUMN,)
    noun = plural = "series"
    needs = frozenset({"vectors"})
    model_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "encoder": {"preset": "series"},
        "recurrent_encoder": {"d_model": 128},
    }
    is_limited = False
    fitting = "reading the series"
    lengths = (COLUMN,)
    vectors: Vectors

    def __init__(self, series: SeriesCodec, facts: SeriesFacts) -> None:
        self.series, self.facts = series, facts
        features = series.width * (1 + facts.has_gaps)
        length = facts.longest if facts.shortest == facts.longest else 0
        patch = min(max(1, facts.usual // PATCHES), LARGEST_PATCH)
        self.numbers = tuple(c.name for c in series.columns if isinstance(c, NumberColumn))
        self.vectors = Vectors(features, (length,), patch=patch)

    @classmethod
    def fit(cls, rows: Rows, text: TextConfig) -> "SeriesInputs":
        codec = SeriesCodec.fit(row[0] for row in rows())
        lengths, has_gaps = [], False
        for row in rows():
            series: Series = row[0]
            if not series.is_blank:
                lengths.append(len(series))
                has_gaps = has_gaps or bool(series.is_missing.any())
        if not lengths:
            raise DataError("the training data have no series with values; name a file with some")
        facts = SeriesFacts(min(lengths), round(median(lengths)), max(lengths), has_gaps)
        return cls(codec, facts)

    @classmethod
    def adopt(cls, folder: Path, rows: Rows) -> "SeriesInputs":
        return cls.load(folder)

    @classmethod
    def is_in(cls, folder: Path) -> bool:
        return (folder / CODEC).exists()

    @classmethod
    def load(cls, folder: Path) -> "SeriesInputs":
        return cls(SeriesCodec.load(folder / CODEC), SeriesFacts.load(folder / FACTS))

    def save(self, folder: Path) -> None:
        """Writes `series.json`, the columns with their scales, and `steps.json`."""
        self.series.save(folder / CODEC)
        self.facts.save(folder / FACTS)

    @property
    def codecs(self) -> dict[str, Codec]:
        return {COLUMN: self.series}

    def describe(self) -> dict[str, Any]:
        return {"kind": "series", "columns": list(self.series.names), **asdict(self.facts)}

    def public_info(self) -> dict[str, Any]:
        return {"series": self.describe()}

    def sizes(self, lengths: Mapping[str, Any]) -> Mapping[str, Any]:
        """Nothing: series may have any length."""
        return {}

    def batch_tokens(self, store: Store) -> int:
        return EXAMPLES * self.facts.usual

    def batch(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None = None
    ) -> dict[str, Tensor]:
        """Shape: src (B, S, F), src_valid (B, S)."""
        if draw is None or not self.config.warp:
            return _padded(*store[COLUMN].take(indices), self.facts.has_gaps)
        warped = []
        for i in indices:
            rng = np.random.default_rng([*draw, WARP_STREAM, int(i)])
            warped.append(warp(self.stored(store, i), self.config.warp, rng))
        return self.tensors(warped)

    def stored(self, store: Store, index: int) -> np.ndarray:
        return store[COLUMN][index]

    def to_text(self, store: Store, index: int) -> str:
        return self._text(store[COLUMN][index])

    def _text(self, encoded: np.ndarray) -> str:
        """The length of a series, and the first values of its first column."""
        first = self.series.decode(list(encoded[:SHOWN]))
        more = ", ..." if len(encoded) > SHOWN else ""
        return f"{len(encoded)} steps, {self.series.names[0]}: {first}{more}"

    def title(self, value: AnySeries) -> str:
        name = value.name if isinstance(value, Series) else ""
        [encoded] = self.encode([value])
        return f"{name}: {self._text(encoded)}" if name else self._text(encoded)

    def element_names(self, encoded: np.ndarray, model: Any) -> list[str]:
        """The first and last step of each patch, from 1."""
        names = [_range(first + 1, last + 1) for first, last in self.spans(encoded, model)]
        return [CLASS_VECTOR, *names] if model.input.class_vector else names

    def spans(self, encoded: np.ndarray, model: Any) -> list[tuple[int, int]]:
        spans: list[tuple[int, int]] = model.input.spans(len(encoded))
        return spans

    def from_text(self, text: str) -> None:
        """None: the text has a few values only."""

    def check(self, value: Any, location: str) -> None:
        """Refuses what is no series, and a series without values or with other columns."""
        problem = _problem(value, self.series)
        if problem is not None:
            raise DataError(f"{location}: {problem}")

    def plain(self, values: Sequence[Series]) -> dict[str, Any]:
        """Name and length of a series."""
        [series] = values
        return {COLUMN: {"name": series.name, "steps": len(series)}}

    def encode(self, values: Sequence[AnySeries]) -> list[np.ndarray]:
        """The encoding of each series (T, width)."""
        return self.series.encode_batch([self.as_series(value) for value in values])

    def as_series(self, value: AnySeries) -> Series:
        """A series as it is; values become one without a name and with numbered steps."""
        if isinstance(value, Series):
            return value
        values = np.asarray(value, np.float64).reshape(len(value), -1)
        return Series("", self.series.names, values, 0, Frequency("step", 1))

    def truncate(self, value: AnySeries, max_length: int) -> np.ndarray:
        [encoded] = self.encode([value])
        return encoded[:max_length]

    def tensors(self, encoded: Sequence[np.ndarray]) -> dict[str, Tensor]:
        lengths = np.array([len(steps) for steps in encoded], np.int64)
        flat = np.concatenate(encoded) if encoded else np.empty((0, self.series.width), np.float32)
        return _padded(flat, lengths, self.facts.has_gaps)


def _range(first: int, last: int) -> str:
    """The steps of a patch."""
    return str(first) if first == last else f"{first}–{last}"


def warp(steps: np.ndarray, strength: float, rng: np.random.Generator) -> np.ndarray:
    """A series (T, C) whose time runs faster in some parts and slower in others.

    Speeds are log-normal at a few points, interpolated between them. Length and ends stay.

    Args:
        strength: standard deviation of the logarithm of the speeds.
    """
    length = len(steps)
    if length < 3:
        return steps
    speeds = np.exp(strength * rng.standard_normal(KNOTS))
    numbers = np.arange(length)
    elapsed = np.cumsum(np.interp(numbers[1:], np.linspace(0, length - 1, KNOTS), speeds))
    times = np.append(0.0, elapsed) * ((length - 1) / elapsed[-1])
    columns = [np.interp(times, numbers, column) for column in steps.T]
    return np.stack(columns, axis=1).astype(steps.dtype)


def _padded(flat: np.ndarray, lengths: np.ndarray, has_marks: bool) -> dict[str, Tensor]:
    """Series one after the other (n, C) as a batch, padded on the right."""
    valid = np.arange(lengths.max(initial=0)) < lengths[:, None]  # (B, S)
    steps = np.full((*valid.shape, flat.shape[1]), np.nan, np.float32)
    steps[valid] = flat
    filled, _ = fill_forward(steps)
    if has_marks:
        filled = np.concatenate([filled, np.isnan(steps)], axis=2, dtype=np.float32)
    filled = np.where(valid[..., None], filled, np.float32(0))
    return {"src": torch.from_numpy(filled), "src_valid": torch.from_numpy(valid)}


def _problem(value: Any, codec: SeriesCodec) -> str | None:
    """The error message for a value that a model cannot read; None if it can."""
    if isinstance(value, Series):
        if problem := codec.complaint(value):
            return problem
        return "the series has no values; give at least one" if value.is_blank else None
    if not isinstance(value, np.ndarray):
        return "got no series; expected a Series, or an array (steps, columns) of numbers"
    width = len(codec.names)
    n_columns = 1 if value.ndim == 1 else value.shape[-1]
    if value.dtype.kind not in "fiub" or value.ndim not in (1, 2) or n_columns != width:
        shape = f"(steps, {width})" + (" or (steps,)" if width == 1 else "")
        return (
            f"got an array {value.shape} of {value.dtype}; expected {shape} of numbers, with the "
            "columns of the training data"
        )
    if np.isinf(value).any():
        return "a value is infinite; expected finite numbers, or NaN where one is missing"
    if not len(value) or np.isnan(value).all():
        return "the series has no values; give at least one"
    return None

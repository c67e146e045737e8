"""Series: values over time at equal steps, the value of a column in tasks about vectors."""

import hashlib
from dataclasses import dataclass

import numpy as np

from .frequency import Frequency


@dataclass(frozen=True, eq=False)
class Series:
    """Values over time, at equal steps: one row per step.

    Attributes:
        name: the name in the file; "" if a file has one series without a name.
        columns: the names of the C columns.
        values: (T, C); float64 with NaN for missing numbers, or objects, text and None for missing
            values, if a column holds categories.
        start: the time of the first step; an integer if steps are numbered.
        history: the number of first steps that are history only, never a target.
    """

    name: str
    columns: tuple[str, ...]
    values: np.ndarray
    start: np.datetime64 | int
    frequency: Frequency
    history: int = 0

    def __len__(self) -> int:
        return len(self.values)

    @property
    def times(self) -> np.ndarray:
        """The time of each step."""
        return self.frequency.times(self.start, 0, len(self))

    @property
    def is_missing(self) -> np.ndarray:
        """Which values are missing (T, C)."""
        return missing_in(self.values)

    @property
    def is_blank(self) -> bool:
        """Whether it has no value."""
        return bool(self.is_missing.all())

    def digest(self) -> str:
        """A text that is equal for equal values, whatever name and time they have."""
        values = self.values
        content = repr(values.tolist()).encode() if values.dtype == object else values.tobytes()
        return hashlib.blake2b(content, digest_size=16).hexdigest()


def missing_in(values: np.ndarray) -> np.ndarray:
    """Which numbers are NaN, or which objects None."""
    if values.dtype != object:
        return np.isnan(values)
    return np.array([value is None for value in values.flat], bool).reshape(values.shape)


def filled(values: np.ndarray) -> np.ndarray:
    """Values (T, C) with the missing ones filled, column by column.

    Numbers are interpolated between their neighbours, and the ends take the nearest value. A
    category is that of the step before, or else the first. A column without values stays as it is.
    """
    is_missing, result = missing_in(values), values.copy()
    steps = np.arange(len(values))
    for c in np.flatnonzero(is_missing.any(axis=0) & ~is_missing.all(axis=0)):
        known = steps[~is_missing[:, c]]
        if values.dtype == object:
            last = np.searchsorted(known, steps, side="right") - 1
            result[:, c] = values[known[np.maximum(last, 0)], c]
        else:
            result[:, c] = np.interp(steps, known, values[known, c])
    return result

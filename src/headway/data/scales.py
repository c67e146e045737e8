"""Deviations to scale by: of each series (`Scales`), and of a typical window (`TypicalVariances`).

What counts as constant is decided in `deviations`, for columns too.
"""

from typing import Any, Self

import numpy as np

ROUNDING = 1e-12
"""A deviation of at most this share of the mean is one of rounding."""
TRAINING, BEFORE = "training part", "steps before each window"


def deviations(mean: Any, variance: Any) -> tuple[np.ndarray, np.ndarray]:
    """Deviations to divide by, and which are those of constants: 1, as there is nothing to scale.

    Shape: all alike, or numbers.
    """
    deviation = np.sqrt(variance)
    is_constant = deviation <= ROUNDING * np.abs(mean)
    return np.where(is_constant, 1.0, deviation), is_constant


def moments(values: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of the known values along an axis; 0 if none is known."""
    known = ~np.isnan(values)
    n = np.maximum(known.sum(axis, keepdims=True), 1)
    mean = np.where(known, values, 0.0).sum(axis, keepdims=True) / n
    variance = (np.where(known, values - mean, 0.0) ** 2).sum(axis, keepdims=True) / n
    return mean.squeeze(axis), variance.squeeze(axis)


class Scales:
    """Location and deviation of each channel of series, by which their windows are standardised.

    Args:
        values: location and deviation (n, C, 2).
        is_constant: which channels are constant (n, C).
        running: of the series for which all steps before a window count.
    """

    def __init__(
        self, values: np.ndarray, is_constant: np.ndarray, running: "RunningSums | None" = None
    ) -> None:
        self.values, self.is_constant = values, is_constant
        self._running = running

    @classmethod
    def of(cls, column: Any, ranges: np.ndarray) -> Self:
        """The scales of a stored column.

        Args:
            ranges: the steps of each series that count (n, 2). If the last is 0, all steps before
                the first target of a window count.
        """
        width = column.column.shape[0]
        values = np.tile([0.0, 1.0], (len(ranges), width, 1))
        is_constant = np.zeros((len(ranges), width), bool)
        is_open = ranges[:, 1] == 0
        for i in np.flatnonzero(~is_open).tolist():
            mean, variance = moments(column[i][slice(*ranges[i])], 0)
            deviation, is_constant[i] = deviations(mean, variance)
            values[i] = np.stack([mean, deviation], axis=-1)
        return cls(values, is_constant, RunningSums(column, is_open) if is_open.any() else None)

    @property
    def rule(self) -> str:
        """Which steps count."""
        if self._running is None:
            return TRAINING
        return BEFORE if self._running.is_open.all() else f"{TRAINING} or {BEFORE}"

    def at(self, series: np.ndarray, first: np.ndarray, channel: np.ndarray | None) -> np.ndarray:
        """Location and deviation for some windows (n, C, 2), or (n, 1, 2) for a channel of each.

        Args:
            first: the first target step of each.
        """
        series, first = series[:, None], first[:, None]
        channel = np.arange(self.values.shape[1]) if channel is None else channel[:, None]
        found: np.ndarray = self.values[series, channel]
        if self._running is not None:
            is_open = self._running.is_open[series]
            own = self._running.scales(series, first, channel)
            found = np.where(is_open[..., None], own, found)
        return found


class RunningSums:
    """Sums over the first steps of series, for each number of steps.

    They are sums of differences to the first known value: squares of large values would be rounded.

    Args:
        column: stored (T, C).
        is_open: the series to sum (n,); the others are left out.
    """

    def __init__(self, column: Any, is_open: np.ndarray) -> None:
        self.is_open = is_open
        self._starts = np.zeros(len(is_open), np.int64)
        self._shifts = np.zeros((len(is_open), column.column.shape[0]))
        parts, end = [], 0
        for i in np.flatnonzero(is_open).tolist():
            sums, self._shifts[i] = _running(column[i])
            parts.append(sums)
            self._starts[i], end = end, end + len(sums)
        self._sums = np.concatenate(parts)  # (steps, C, 3)

    def scales(self, series: np.ndarray, first: np.ndarray, channel: np.ndarray) -> np.ndarray:
        """Location and deviation of all steps before some; 0 and 1 without a value.

        Series that are left out get anything.

        Shape: alike or broadcast -> (..., 2).
        """
        rows = np.where(self.is_open[series], self._starts[series] + first, 0)
        count, total, squares = np.moveaxis(self._sums[rows, channel], -1, 0)
        n = np.maximum(count, 1)
        mean = np.where(count > 0, self._shifts[series, channel] + total / n, 0.0)
        variance = np.maximum(squares / n - (total / n) ** 2, 0.0)
        return np.stack([mean, deviations(mean, variance)[0]], axis=-1)


def _running(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each number of first steps (T + 1, C, 3): known values, their sum, and that of squares.

    Also the first known value of each channel (C,), which is taken out.
    """
    known = ~np.isnan(values)
    shift = np.zeros(values.shape[1])
    if len(values):
        shift = np.nan_to_num(values[known.argmax(0), np.arange(values.shape[1])])
    moved = np.where(known, values - shift, 0.0)
    running = np.zeros((len(values) + 1, values.shape[1], 3))
    for i, each in enumerate((known, moved, moved**2)):
        np.cumsum(each, axis=0, out=running[1:, :, i])
    return running, shift


class TypicalVariances:
    """The variance of a typical window of each column: the median of those that change.

    Of each series the later half counts, which is most like the windows to come.

    Args:
        history: steps of a window.
        by_series: whether each series is standardised by itself.
    """

    def __init__(self, history: int, by_series: bool) -> None:
        self._history, self._by_series = history, by_series
        self._found: list[np.ndarray] = []

    def add(self, values: np.ndarray) -> None:
        """Adds the windows of a series (T, C), side by side."""
        if not len(values) or values.dtype == object:  # names, which the task refuses
            return
        n = max(1, len(values) // (2 * self._history))
        windows = values[-n * self._history :].reshape(n, -1, values.shape[1])
        mean, variance = moments(windows, 1)  # (n, C)
        _, is_constant = deviations(mean, variance)
        if self._by_series:
            variance = variance / deviations(*moments(values, 0))[0] ** 2
        self._found.append(np.where(is_constant, np.nan, variance))

    def result(self, deviation: np.ndarray) -> tuple[float, ...]:
        """The variance of each column, 1 if no window of it changes.

        Args:
            deviation: by which the columns are standardised (C,).
        """
        columns = np.concatenate([np.empty((0, len(deviation))), *self._found]).T
        known = [column[~np.isnan(column)] for column in columns]
        if self._by_series:
            deviation = np.ones_like(deviation)  # it has no effect on series that are standardised
        return tuple(
            float(np.median(each)) / float(by) ** 2 if len(each) else 1.0
            for each, by in zip(known, deviation, strict=True)
        )

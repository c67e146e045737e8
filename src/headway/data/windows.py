"""Windows of stored series: an example is a history and the horizon after it.

Windows are a view. A series is stored once, however many windows it has; `take` reads the steps of
the windows of a batch. What the numbers mean is left to the task.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .store import Store

LENGTH = "steps"
"""The one size of a window: its steps."""


@dataclass(frozen=True)
class WindowSize:
    """The steps of a window.

    Attributes:
        history: steps before the targets.
        horizon: steps to forecast.
        stride: steps between the starts of two windows.
    """

    history: int
    horizon: int
    stride: int = 1

    @property
    def steps(self) -> int:
        return self.history + self.horizon


@dataclass(frozen=True)
class Places:
    """Where some windows are: series, channel (0 if channels are together), first target step."""

    series: np.ndarray
    channel: np.ndarray
    first: np.ndarray


class Windows:
    """The windows of some stored series, in the order of series, channel and time.

    A window begins at each step whose whole horizon lies in the span of its series. Its history may
    reach back before the span, and is shorter where the series begins.

    Args:
        column: the column of the store with the targets (T, C).
        spans: first target step of each series, and the one after its last (n, 2).
        apart: whether each channel has windows of its own.
        least_history: steps before the first target that a window has at least, in a span from
            the start of a series; if no window has, the last one is used with the history that it
            has. A later span has history before it: all of its windows are used, so that targets of
            a test do not depend on the look-back.
        scales: location and deviation of each channel of each series (n, C, 2), by which `take`
            standardises it.
    """

    def __init__(
        self,
        store: Store,
        column: str,
        spans: np.ndarray,
        size: WindowSize,
        apart: bool,
        least_history: int,
        scales: np.ndarray | None = None,
    ) -> None:
        self.store, self.column, self.size, self.apart = store, column, size, apart
        self.scales = scales
        self.spans = spans
        self.n_channels = store[column].column.shape[0]
        last = spans[:, 1] - size.horizon  # the last possible first target
        begin = np.where(spans[:, 0] > 0, spans[:, 0], least_history)
        self._firsts = np.minimum(begin, last)
        room = last - self._firsts
        has_any = last >= np.maximum(spans[:, 0], 1)
        self._counts = np.where(has_any, room // size.stride + 1, 0)
        # Strides end at the last window, so that the newest data are always used.
        self._firsts += np.where(has_any, room % size.stride, 0)
        each = self.n_channels if apart else 1
        self._ends = np.cumsum(self._counts * each)
        self._chosen: np.ndarray | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The sizes of a window, for batching."""
        return (LENGTH,)

    @property
    def is_used(self) -> np.ndarray:
        """Which series have a window (n,)."""
        return self._counts > 0

    @property
    def n_of_series(self) -> np.ndarray:
        """The number of windows of each series (n,), over its channels."""
        return self._counts * (self.n_channels if self.apart else 1)

    def firsts_of(self, series: int) -> np.ndarray:
        """The first target step of each window of a series."""
        steps: np.ndarray = np.arange(self._counts[series]) * self.size.stride
        return steps + self._firsts[series]

    def __len__(self) -> int:
        if self._chosen is not None:
            return len(self._chosen)
        return int(self._ends[-1]) if len(self._ends) else 0

    def lengths(self, column: str, start: int = 0, stop: int | None = None) -> np.ndarray:
        """The steps of each window from `start` to `stop`; all windows have as many."""
        return np.full((len(self) if stop is None else stop) - start, self.size.history)

    def select(self, rows: np.ndarray) -> "Windows":
        """Some of the windows, in the order of `rows`."""
        other = object.__new__(Windows)
        other.__dict__.update(self.__dict__)
        other._chosen = rows if self._chosen is None else self._chosen[rows]
        return other

    def places(self, indices: np.ndarray) -> Places:
        """Series, channel and first target step of some windows."""
        indices = np.asarray(indices, np.int64)
        if self._chosen is not None:
            indices = self._chosen[indices]
        series = np.searchsorted(self._ends, indices, side="right")
        each = self.n_channels if self.apart else 1
        within = indices - (self._ends[series] - self._counts[series] * each)
        channel, number = np.divmod(within, self._counts[series])
        return Places(series, channel, self._firsts[series] + number * self.size.stride)

    def take(self, places: Places, history: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The targets' columns over some windows, and which of these steps exist.

        Args:
            history: the steps before the targets, in place of those of a window.

        Shape: values (n, history + horizon, C), where C is 1 if channels are apart; exists
        (n, history + horizon).
        """
        history = self.size.history if history is None else history
        steps = places.first[:, None] + np.arange(-history, self.size.horizon)
        exists = (steps >= 0) & (steps < self.n_steps(places.series)[:, None])
        channel = places.channel if self.apart else None
        values = self._read(self.column, places.series, steps, channel)
        if self.scales is not None:
            scales = self._scales_at(places, self.scales)[:, None]  # (n, 1, C, 2)
            values = (values - scales[..., 0]) / scales[..., 1]
        return values.astype(np.float32, copy=False), exists

    def _scales_at(self, places: Places, scales: np.ndarray) -> np.ndarray:
        """Location and deviation of the channels of some windows (n, C, 2)."""
        if self.apart:
            return scales[places.series, places.channel][:, None]
        chosen: np.ndarray = scales[places.series]
        return chosen

    def units(
        self, places: Places, mean: np.ndarray, deviation: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """What `value * scale + offset` must be for values of `take` to be in the data's units.

        Args:
            mean, deviation: by which the stored values were standardised (C,).

        Shape: scale (n, C), offset (n, C).
        """
        n = len(places.first)
        scale, offset = (np.broadcast_to(x, (n, self.n_channels)) for x in (deviation, mean))
        if self.apart:
            rows = np.arange(n)
            scale, offset = (
                scale[rows, places.channel][:, None],
                offset[rows, places.channel][:, None],
            )
        if self.scales is not None:
            inner = self._scales_at(places, self.scales)
            scale, offset = scale * inner[..., 1], offset + scale * inner[..., 0]
        return scale, offset

    def covariates(self, column: str, places: Places, horizon: int) -> np.ndarray:
        """Another column over the history and `horizon` steps more (n, history + horizon, K).

        Steps beyond the end of the column are NaN.
        """
        steps = places.first[:, None] + np.arange(-self.size.history, horizon)
        return self._read(column, places.series, steps, None).astype(np.float32, copy=False)

    def n_steps(self, series: np.ndarray) -> np.ndarray:
        """The length of each of some series (n,)."""
        lengths: np.ndarray = self.store.lengths(self.column)[series]
        return lengths

    def _read(
        self, column: str, series: np.ndarray, steps: np.ndarray, channel: np.ndarray | None
    ) -> np.ndarray:
        stored = self.store[column]
        starts, ends = stored.bounds(series)
        n = (ends - starts)[:, None]
        is_inside = (steps >= 0) & (steps < n)
        rows = starts[:, None] + np.clip(steps, 0, np.maximum(n - 1, 0))
        values = stored.rows_at(rows, channel)
        values[~is_inside] = np.nan
        return values


def spans_of(
    parts: Sequence[tuple[int, int]], histories: Sequence[int], lengths: np.ndarray
) -> np.ndarray:
    """The target steps of each series: its part, without the steps that are history only (n, 2)."""
    spans = np.array(parts, np.int64).reshape(-1, 2)
    spans[:, 0] = np.maximum(spans[:, 0], np.array(histories, np.int64))
    return np.clip(spans, 0, lengths[:, None])


def fill_forward(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values with each gap filled by the value before it, and where there is one to fill with.

    Shape: (n, T, C) -> (n, T, C) without NaN, and (n, T, C) bool: False before the first value,
    where the result is 0.
    """
    is_missing = np.isnan(values)
    if not is_missing.any():
        return values, np.ones_like(is_missing)
    n, steps, channels = values.shape
    indices = np.where(is_missing, -1, np.arange(steps)[:, None])
    latest = np.maximum.accumulate(indices, axis=1)  # (n, T, C): the last step with a value
    rows, columns = np.arange(n)[:, None, None], np.arange(channels)
    filled = values[rows, np.maximum(latest, 0), columns]
    return np.where(latest >= 0, filled, 0.0).astype(values.dtype), latest >= 0

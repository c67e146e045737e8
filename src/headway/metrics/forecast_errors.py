"""Errors of forecasts, summed by window: `ErrorSums`, from which every metric is computed.

A test part may have thousands of windows of many columns and steps, so forecasts arrive in chunks
and only their sums are kept, in float64. The metrics themselves are in `forecasting.py`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError

Numbers = NDArray[np.float64]
Sums = dict[str, Numbers]
FEWEST_BLOCKS = 3
"""Blocks of windows from which on there is an interval."""


@dataclass(frozen=True)
class Forecasts:
    """Forecasts of some windows and what came, in the units of the data.

    Attributes:
        outputs: point forecasts (n, H, C).
        targets: (n, H, C); values that are not valid may be NaN.
        valid: False where a target is missing (n, H, C). It does not count.
        series: index of the series of each window (n,).
        origin: index of the first step of each target in its series (n,).
        quantiles: forecasts of the levels (n, H, C, Q), or None.
        levels: of the quantiles, ascending, between 0 and 1.
        naive2: forecasts of Naive2 for the same windows (n, H, C), for OWA; or None.
        column: index of the column of each window (n,), if C is 1 because columns come apart.
    """

    outputs: NDArray[np.floating]
    targets: NDArray[np.floating]
    valid: NDArray[np.bool_]
    series: NDArray[np.integer]
    origin: NDArray[np.integer]
    quantiles: NDArray[np.floating] | None = None
    levels: tuple[float, ...] = ()
    naive2: NDArray[np.floating] | None = None
    column: NDArray[np.integer] | None = None

    def scales_of(self, values: NDArray[Any]) -> NDArray[Any]:
        """For each window, the entries of values (S, C) for its series and columns (n, 1, C)."""
        if self.column is None:
            return values[self.series][:, None, :]
        return values[self.series, self.column][:, None, None]


@dataclass(frozen=True, eq=False)
class SeriesScales:
    """What errors are divided by, for each series and column.

    Attributes:
        scaling: deviation that scaled the data (S, C): an error in scaled values is the error in
            units divided by it.
        seasonal: in-sample `naive2.seasonal_error` (S, C), for MASE; or None. A column with 0 or
            NaN has no MASE.
        season: steps of the season.
    """

    scaling: Numbers
    seasonal: Numbers | None = None
    season: int = 1

    @property
    def has_mase(self) -> NDArray[np.bool_]:
        """Whether columns of series have a MASE (S, C)."""
        if self.seasonal is None:
            return np.zeros(self.scaling.shape, np.bool_)
        return np.asarray(np.isfinite(self.seasonal) & (self.seasonal > 0))


@dataclass
class ErrorSums:
    """Sums of errors by window.

    Args:
        windows: which windows are scored; `all` unless they are a sample.
    """

    scales: SeriesScales
    windows: str = "all"
    horizon: int = field(default=0, init=False)
    n_missing: int = field(default=0, init=False)
    levels: tuple[float, ...] = field(default=(), init=False)
    _chunks: list[Sums] = field(default_factory=list, init=False)

    def add(self, forecasts: Forecasts) -> None:
        """Adds the errors of a chunk of windows.

        Raises:
            DataError: a number is infinite or NaN, or the chunks differ in horizon or quantiles.
        """
        horizon = forecasts.targets.shape[1]
        if self._chunks and (horizon, forecasts.levels) != (self.horizon, self.levels):
            raise DataError(
                f"forecasts of {horizon} steps and levels {forecasts.levels} after forecasts of "
                f"{self.horizon} steps and levels {self.levels}; score them apart"
            )
        self.horizon, self.levels = horizon, forecasts.levels
        self.n_missing += int(np.size(forecasts.valid) - np.count_nonzero(forecasts.valid))
        keys = {"series": forecasts.series, "origin": forecasts.origin}
        sums = {name: np.asarray(key, np.float64) for name, key in keys.items()}
        self._chunks.append(sums | _errors(forecasts, self.scales))
        self.__dict__.pop("by_window", None)

    @cached_property
    def by_window(self) -> Sums:
        """All sums, one number per window, in order of series and origin.

        Windows of one series and origin are one: the columns of a series may come apart.

        Raises:
            DataError: there are no targets.
        """
        if not any(chunk["count"].any() for chunk in self._chunks):
            raise DataError("no targets to score: got 0, expected at least 1; check the data")
        columns = {
            name: np.concatenate([chunk[name] for chunk in self._chunks])
            for name in self._chunks[0]
        }
        keys = np.stack([columns.pop("series"), columns.pop("origin")])
        windows, index = np.unique(keys, axis=1, return_inverse=True)
        index = index.reshape(-1)
        sums = {
            name: np.bincount(index, column, windows.shape[1]) for name, column in columns.items()
        }
        return {"series": windows[0], "origin": windows[1], **sums}

    @property
    def n_windows(self) -> int:
        """Number of windows; one has all columns of its series."""
        return len(self.by_window["origin"])

    @property
    def series(self) -> NDArray[np.int64]:
        """Indices of the series that have windows."""
        return np.unique(self.by_window["series"]).astype(np.int64)

    def groups(self, names: tuple[str, ...]) -> list[Numbers]:
        """The named sums of each series, one row per window in order (n, names)."""
        rows = np.stack([self.by_window[name] for name in names], axis=1)
        return list(np.split(rows, self._starts()[1:]))

    def blocks(self) -> list[int]:
        """Windows of a block, for each series: two horizons, or one if few blocks would be left.

        Windows less than a horizon apart share targets, and so errors. Twice as many cut fewer of
        these pairs: of simulated forecasts of 96 steps, intervals from blocks of one and of two
        horizons covered the truth in 86% and 91% of the trials. The look-back does not count: what
        windows share of it is known before both forecasts, so that good forecasts have no common
        error from it, and blocks of 512 steps more, which are few, covered no more.
        """
        sizes = []
        for origins in np.split(self.by_window["origin"], self._starts()[1:]):
            stride = float(np.median(np.diff(origins))) if len(origins) > 1 else 1.0
            one, two = (int(np.ceil(n * self.horizon / max(1.0, stride))) for n in (1, 2))
            sizes.append(two if len(origins) >= FEWEST_BLOCKS * two else one)
        return sizes

    def _starts(self) -> NDArray[np.intp]:
        """The index of the first window of each series."""
        return np.unique(self.by_window["series"], return_index=True)[1]


def _errors(forecasts: Forecasts, scales: SeriesScales) -> Sums:
    """The sums over steps and columns of each window (n,)."""
    valid = forecasts.valid
    targets = _checked("target", forecasts.targets, forecasts)
    outputs = _checked("forecast", forecasts.outputs, forecasts)
    scaling = forecasts.scales_of(scales.scaling)  # (n, 1, C)
    error = np.abs(outputs - targets)  # (n, H, C), 0 where not valid
    sums = {
        "count": _total(valid),
        "absolute": _total(error),
        "squared": _total(error**2),
        "scaled_absolute": _total(error / scaling),
        "scaled_squared": _total((error / scaling) ** 2),
        "symmetric": _total(_symmetric(outputs, targets, error)),
    }
    has_mase = forecasts.scales_of(scales.has_mase)
    if scales.seasonal is not None:
        divisor = np.where(has_mase, forecasts.scales_of(scales.seasonal), np.inf)
        sums["mase"], sums["mase_count"] = _total(error / divisor), _total(valid & has_mase)
    if forecasts.naive2 is not None:
        others = _checked("forecast of Naive2", forecasts.naive2, forecasts)
        error = np.abs(others - targets)
        sums["naive2_symmetric"] = _total(_symmetric(others, targets, error))
        if scales.seasonal is not None:
            sums["naive2_mase"] = _total(error / divisor)
    if forecasts.quantiles is not None:
        sums |= _quantile_errors(forecasts, targets, scaling)
    return sums


def _symmetric(outputs: Numbers, targets: Numbers, error: Numbers) -> Numbers:
    """`200 |y - f| / (|y| + |f|)`; 0 if both are 0."""
    size = np.abs(outputs) + np.abs(targets)
    return np.asarray(200 * error / np.where(size > 0, size, 1.0))


def _quantile_errors(forecasts: Forecasts, targets: Numbers, scaling: Numbers) -> Sums:
    """Pinball losses, and coverage and width of the interval between the outermost quantiles."""
    assert forecasts.quantiles is not None
    loss = np.zeros_like(targets)
    for level, quantile in zip(forecasts.levels, _each_quantile(forecasts), strict=True):
        under = targets - quantile
        loss += np.maximum(level * under, (level - 1) * under) / len(forecasts.levels)
    sums = {"pinball": _total(loss), "scaled_pinball": _total(loss / scaling)}
    if len(forecasts.levels) > 1:
        ends = (_checked("quantile", forecasts.quantiles[..., i], forecasts) for i in (0, -1))
        low, high = ends
        covered = (low <= targets) & (targets <= high) & forecasts.valid
        sums |= {"covered": _total(covered), "width": _total(high - low)}
        sums["scaled_width"] = _total((high - low) / scaling)
    return sums


def _each_quantile(forecasts: Forecasts) -> Iterator[Numbers]:
    assert forecasts.quantiles is not None
    for i in range(forecasts.quantiles.shape[-1]):
        yield _checked("quantile", forecasts.quantiles[..., i], forecasts)


def _checked(what: str, values: NDArray[np.floating], forecasts: Forecasts) -> Numbers:
    """Values (n, H, C) in float64, 0 where there is no valid target."""
    numbers = np.where(forecasts.valid, values, 0).astype(np.float64)
    if not np.isfinite(numbers).all():
        window, step, column = np.argwhere(~np.isfinite(numbers))[0]
        raise DataError(
            f"{what} of series {forecasts.series[window]}, step "
            f"{forecasts.origin[window] + step}, column {column} is "
            f"{numbers[window, step, column]}; expected a finite number"
        )
    return numbers


def _total(values: NDArray[np.generic]) -> Numbers:
    return np.asarray(values.sum(axis=(1, 2), dtype=np.float64))

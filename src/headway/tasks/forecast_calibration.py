"""Prediction intervals of forecasts, by conformal calibration on validation windows.

An error is divided by the scale of its window. For each step ahead and each column, the interval is
as wide as the quantile of these errors at its level (Vovk et al. 2005; with predicted quantiles,
Romano et al. 2019). It covers as promised if later errors are like those of the validation.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..data.windows import Places, Windows

LEVELS = (0.8, 0.9)
MOST_ERRORS = 1 << 25
"""The most errors that are kept at once."""
FEWEST_ERRORS = 50
"""Columns with fewer errors at a step share those of all columns, or else those of all steps."""
FEWEST_WINDOWS = 4 * FEWEST_ERRORS
"""Validation windows of a column of a series from which on the earlier half is left out."""
PREFIX = "interval."


@dataclass(frozen=True)
class ForecastBatch:
    """Forecasts of some windows, in scaled values less the location of the window.

    Attributes:
        outputs: (B, H, C, Q).
        point: the forecast among them (B, H, C).
        values: the true values (B, H, C).
        valid: which of them are known (B, H, C).
        scale: the deviation of each channel in its window (B, C).
        location: what was taken out of it, in scaled values (B, C) of float64.
    """

    places: Places
    outputs: np.ndarray
    point: np.ndarray
    values: np.ndarray
    valid: np.ndarray
    scale: np.ndarray
    location: np.ndarray


class Calibration:
    """Margins of the intervals of a run.

    Args:
        margins: by level, in deviations of the window (H, columns).
        quantiles: the quantiles that the model predicts.
        apart: whether windows have one column each.
    """

    def __init__(
        self, margins: Mapping[float, np.ndarray], quantiles: Sequence[float], apart: bool
    ) -> None:
        self.margins, self._quantiles, self._apart = dict(margins), tuple(quantiles), apart

    @classmethod
    def fit(cls, task: Any, model: Any, windows: Windows) -> "Calibration":
        """The margins that cover the values of validation windows."""
        levels, quantiles = levels_of(task.config), task.config.quantiles or (0.5,)
        apart = task.config.channels == "apart"
        n_columns = task.inputs.target.width
        windows = recent_windows(windows)
        most = max(1, MOST_ERRORS // (windows.size.horizon * task.inputs.n_channels * len(levels)))
        if len(windows) > most:
            windows = windows.select(np.arange(most) * len(windows) // most)
        errors: dict[float, list[np.ndarray]] = {level: [] for level in levels}
        columns: list[np.ndarray] = []
        calibration = cls({}, quantiles, apart)
        for batch in task.backtest(model, windows):
            columns.append(calibration.columns_of(batch, n_columns))
            for level in levels:
                low, high = calibration.base(batch, level)
                outside = np.maximum(low - batch.values, batch.values - high)
                scores = outside / batch.scale[:, None]
                errors[level].append(np.where(batch.valid, scores, np.nan))
        margins = {
            level: _margins(np.concatenate(parts), np.concatenate(columns), n_columns, level)
            for level, parts in errors.items()
        }
        calibration.margins = {k: each for k, each in margins.items() if np.isfinite(each).all()}
        return calibration

    def base(self, batch: ForecastBatch, level: float) -> tuple[np.ndarray, np.ndarray]:
        """The predicted quantiles around a level, or else the forecast twice (B, H, C)."""
        ends = [(1 - level) / 2, (1 + level) / 2]
        indices = [_index(self._quantiles, end) for end in ends]
        point = self._quantiles.index(0.5)
        low, high = (point if None in indices else index for index in indices)
        return batch.outputs[..., low], batch.outputs[..., high]

    def intervals(self, batch: ForecastBatch) -> Iterator[tuple[float, np.ndarray, np.ndarray]]:
        """Each level with the low and the high end of its intervals (B, H, C), scaled."""
        inner: tuple[np.ndarray, np.ndarray] | None = None
        for level, margins in self.margins.items():
            columns = self.columns_of(batch, margins.shape[1])
            wide = margins.T[columns].transpose(0, 2, 1) * batch.scale[:, None]  # (B, H, C)
            low, high = self.base(batch, level)
            low, high = np.minimum(low, high) - wide, np.maximum(low, high) + wide
            # A margin may be negative, and narrow the quantiles beyond the forecast.
            low, high = np.minimum(low, batch.point), np.maximum(high, batch.point)
            if inner is not None:  # a wider level never has the narrower interval
                low, high = np.minimum(low, inner[0]), np.maximum(high, inner[1])
            inner = low, high
            yield level, low, high

    def columns_of(self, batch: ForecastBatch, n_columns: int) -> np.ndarray:
        """The columns of each window (B, C)."""
        if self._apart:
            return batch.places.channel[:, None]
        return np.broadcast_to(np.arange(n_columns), (len(batch.outputs), n_columns))

    def tensors(self) -> dict[str, Tensor]:
        """The margins by name, for saving."""
        return {
            f"{PREFIX}{level:g}": torch.from_numpy(np.ascontiguousarray(margins))
            for level, margins in self.margins.items()
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], task: Any) -> "Calibration | None":
        """The calibration of a task from its saved margins; None if there are none."""
        margins = {
            float(name.removeprefix(PREFIX)): tensor.numpy()
            for name, tensor in tensors.items()
            if name.startswith(PREFIX)
        }
        if not margins:
            return None
        apart = task.config.channels == "apart"
        return cls(dict(sorted(margins.items())), task.config.quantiles or (0.5,), apart)


def levels_of(config: Any) -> Sequence[float]:
    """The levels of the intervals of a run, of its settings or by default."""
    levels: Sequence[float] = config.levels or LEVELS
    return levels


def missing_levels(config: Any, calibration: "Calibration | None") -> list[str]:
    """A warning about levels of a run that have no intervals; none if all have."""
    margins = calibration.margins if calibration is not None else {}
    found = {f"{level:g}" for level in margins}
    levels = [level for level in levels_of(config) if f"{level:g}" not in found]
    if not levels:
        return []
    named = " and ".join(f"{100 * level:g}%" for level in levels)
    least = " and ".join(str(_fewest_errors(level)) for level in levels)
    return [
        f"no {named} interval{'s' * (len(levels) > 1)}: calibration needs at least {least} known "
        "values in the validation windows; train on more data, or with a larger validation part "
        "(forecast.split)"
    ]


def _fewest_errors(level: float) -> int:
    """The fewest errors among which one is likely enough to be exceeded no more often."""
    return math.ceil(level / (1 - level) - 1e-9)


def recent_windows(windows: Windows) -> Windows:
    """The later half of the windows of each long series: its errors are most like those to come."""
    places = windows.places(np.arange(len(windows)))
    firsts = [windows.firsts_of(series) for series in range(len(windows.spans))]
    middles = np.array(
        [each[len(each) // 2] if len(each) >= FEWEST_WINDOWS else 0 for each in firsts]
    )
    return windows.select(np.flatnonzero(places.first >= middles[places.series]))


def _margins(errors: np.ndarray, columns: np.ndarray, n_columns: int, level: float) -> np.ndarray:
    """The margin of each step and column (H, columns); NaN if there are too few errors.

    Args:
        errors: (n, H, C), NaN for unknown values.
        columns: the column of each channel of each window (n, C).
    """
    horizon = errors.shape[1]
    flat = errors.transpose(0, 2, 1).reshape(-1, horizon)  # (n * C, H)
    owner = columns.reshape(-1)
    overall = _quantiles(flat.reshape(-1, 1), level)
    pooled = np.where(_n_known(flat) >= FEWEST_ERRORS, _quantiles(flat, level), np.nan)
    pooled = np.where(np.isnan(pooled), overall, pooled)
    margins = np.empty((horizon, n_columns), np.float32)
    for column in range(n_columns):
        own = flat[owner == column]
        found = np.where(_n_known(own) >= FEWEST_ERRORS, _quantiles(own, level), np.nan)
        margins[:, column] = np.where(np.isnan(found), pooled, found)
    return margins


def _n_known(errors: np.ndarray) -> np.ndarray:
    """The number of errors at each step (H,)."""
    counts: np.ndarray = (~np.isnan(errors)).sum(0)
    return counts


def _quantiles(errors: np.ndarray, level: float) -> np.ndarray:
    """For each step, the error of rank ceil((n + 1) * level) among the n known ones (H,).

    NaN if they are too few: none of n errors covers a share of more than n / (n + 1) of later ones.
    """
    n = _n_known(errors)
    rank = np.ceil(np.round((n + 1) * level, 6)).astype(int)  # 100 * .55 is more than 55 as floats
    ordered = np.sort(errors, axis=0)  # NaN last
    inside = np.clip(rank - 1, 0, max(0, len(ordered) - 1))
    chosen = ordered[inside, np.arange(errors.shape[1])] if len(ordered) else np.nan
    margins: np.ndarray = np.where(rank <= n, chosen, np.nan)
    return margins


def _index(quantiles: Sequence[float], wanted: float) -> int | None:
    near = [i for i, value in enumerate(quantiles) if abs(value - wanted) < 1e-6]
    return near[0] if near else None

"""Backtests: the errors of a forecaster and of its floors on the same windows, in one pass.

`metrics/forecasting.py` computes the scores from the sums of errors.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..data.series import filled
from ..data.windows import Windows
from ..errors import DataError
from ..metrics.forecast_errors import ErrorSums, Forecasts, SeriesScales
from ..metrics.naive2 import naive2, seasonal_error
from ..tasks.forecast import Forecast
from ..tasks.forecast_calibration import Calibration, ForecastBatch

MOST_NAIVE2 = 20_000
"""Windows for which Naive2 is computed; it takes about a millisecond each."""


class Backtest:
    """Forecasts of every window by several models.

    Args:
        models: by name; the first is the model, the others are its floors.
        calibration: of the first model.
        has_naive2: whether OWA is wanted, which needs Naive2 for each window.
    """

    def __init__(
        self,
        task: Forecast,
        models: Mapping[str, Any],
        windows: Windows,
        calibration: Calibration | None,
        has_naive2: bool = False,
    ) -> None:
        if has_naive2 and len(windows) > MOST_NAIVE2:
            raise DataError(
                f"OWA needs Naive2 for each of {len(windows)} windows, and at most {MOST_NAIVE2} "
                "are computed; leave out the metric owa"
            )
        self.task, self.models, self.windows = task, dict(models), windows
        self.calibration, self.has_naive2 = calibration, has_naive2

    def run(self) -> dict[str, ErrorSums]:
        """The errors of each model, by name."""
        scales = self._scales()
        sums = {name: ErrorSums(scales) for name in self.models}
        for batches in self.task.backtests(list(self.models.values()), self.windows):
            levels, ends = self._quantiles(batches[0])
            second = self._naive2(batches[0]) if self.has_naive2 else None
            for number, (name, batch) in enumerate(zip(self.models, batches, strict=True)):
                sums[name].add(
                    self._forecasts(batch, levels, ends if number == 0 else None, second)
                )
        return sums

    def _scales(self) -> SeriesScales:
        """What errors in units are divided by, from the steps before the first target."""
        windows, target, season = (
            self.windows,
            self.task.inputs.target,
            self.task.inputs.facts.season,
        )
        n_columns = target.width
        scaling, seasonal = np.empty((2, len(windows.spans), n_columns))
        for i, (begin, _) in enumerate(windows.spans.tolist()):
            own = np.ones(n_columns) if windows.scales is None else windows.scales[i, :, 1]
            scaling[i] = own * target.deviation
            stored = windows.store[windows.column][i][:begin].astype(np.float64)
            in_units = stored * target.deviation + target.mean
            seasonal[i] = seasonal_error(in_units, season) if begin > season else np.nan
        return SeriesScales(scaling, seasonal, season)

    def _quantiles(self, batch: ForecastBatch) -> tuple[tuple[float, ...], np.ndarray | None]:
        """The levels of the interval ends and of the forecast, and their values (B, H, C, Q)."""
        if self.calibration is None:
            return (), None
        intervals = list(self.calibration.intervals(batch))
        below = [(1 - level) / 2 for level, _, _ in reversed(intervals)]
        above = [(1 + level) / 2 for level, _, _ in intervals]
        values = [low for _, low, _ in reversed(intervals)]
        values += [batch.point, *(high for _, _, high in intervals)]
        return (*below, 0.5, *above), np.stack(values, axis=-1)

    def _forecasts(
        self,
        batch: ForecastBatch,
        levels: tuple[float, ...],
        ends: np.ndarray | None,
        second: np.ndarray | None,
    ) -> Forecasts:
        """The forecasts of a batch in the units of the data."""
        scale, offset = self._units(batch)
        is_apart = self.windows.apart
        return Forecasts(
            batch.point * scale + offset,
            batch.values * scale + offset,
            batch.valid,
            batch.places.series,
            batch.places.first,
            None if ends is None else ends * scale[..., None] + offset[..., None],
            () if ends is None else levels,
            second,
            batch.places.channel if is_apart else None,
        )

    def _units(self, batch: ForecastBatch) -> tuple[np.ndarray, np.ndarray]:
        """Scale and offset from scaled values to units (B, 1, C)."""
        target = self.task.inputs.target
        scale, offset = self.windows.units(batch.places, target.mean, target.deviation)
        return scale[:, None], offset[:, None]

    def _naive2(self, batch: ForecastBatch) -> np.ndarray:
        """Naive2 for each window, from all steps before it, in units (B, H, C)."""
        places, target = batch.places, self.task.inputs.target
        result = np.empty(batch.values.shape)
        for i in range(len(result)):
            stored = self.windows.store[self.windows.column][int(places.series[i])]
            history = stored[: places.first[i]].astype(np.float64) * target.deviation + target.mean
            columns = [places.channel[i]] if self.windows.apart else range(target.width)
            for c, column in enumerate(columns):
                result[i, :, c] = self._naive2_of(history[:, column])
        return result

    def _naive2_of(self, history: np.ndarray) -> np.ndarray:
        """Naive2 after a history (T,); missing values are filled, so that seasons keep their phase.

        Without any value, there is no forecast: NaN.
        """
        season, horizon = self.task.inputs.facts.season, self.windows.size.horizon
        if np.isnan(history).all():
            return np.full(horizon, np.nan)
        begin = int(np.argmin(np.isnan(history)))  # nothing is known before the first value
        return naive2(filled(history[begin:, None])[:, 0], season, horizon)

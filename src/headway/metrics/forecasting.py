"""Metrics of forecasts, from the `ErrorSums` of all windows.

Squared and absolute errors, pinball loss (half of the CRPS, with many levels), coverage and width
are means over all valid values. sMAPE, MASE and OWA are those of the M4 competition: means over
series of the mean of each series.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..errors import DataError
from .forecast_errors import FEWEST_BLOCKS, ErrorSums, Numbers
from .interval import SEED, block_bootstrap, bootstrap, t_factor
from .metric import Metric
from .score import Score

MANY_SERIES = 20  # from which on series are resampled in place of windows


@dataclass(frozen=True)
class _Measure:
    """A function of means of sums.

    Attributes:
        means: numerators and denominators of the means, by their names in `ErrorSums.by_window`.
        value: of the means, each over all series.
        settings: what the signature says about the measure.
        per_series: whether a mean is one of series, each with its own mean, or one of all values.
        missing: why there may be no such score.
        largest: the largest possible value.
    """

    name: str
    label: str
    means: tuple[tuple[str, str], ...]
    value: Callable[..., float]
    settings: str = ""
    per_series: bool = False
    missing: str = ""
    largest: float = math.inf

    @property
    def sums(self) -> tuple[str, ...]:
        """The names of all sums, each numerator before its denominator."""
        return tuple(name for mean in self.means for name in mean)

    def statistics(self, sums: Numbers) -> Numbers:
        """From the sums of each series (S, 2M) statistics of which only column sums matter."""
        if not self.per_series:
            return sums
        numerators, counts = sums[:, ::2], sums[:, 1::2]
        means = np.where(counts > 0, numerators / np.maximum(counts, 1), 0.0)
        return np.stack([means, counts > 0], axis=2).reshape(len(sums), -1)

    def score(self, totals: Numbers) -> float:
        """The score of column sums of statistics; NaN if nothing was counted."""
        numerators, counts = totals[::2], totals[1::2]
        if (counts == 0).any():
            return math.nan
        return self.value(*(numerators / counts).tolist())


def _same(mean: float) -> float:
    return mean


def _percent(mean: float) -> float:
    return 100 * mean


def _overall(smape: float, smape2: float, mase: float, mase2: float) -> float:
    """The ratio of means, never the mean of the series' ratios, which has no bound."""
    if smape2 == 0 or mase2 == 0:
        return math.nan
    return (smape / smape2 + mase / mase2) / 2


_NO_INTERVALS = (
    "the forecasts have no prediction intervals, which are calibrated on enough validation windows "
    "of a single run; train with more validation data, or score the runs of an ensemble one by one"
)
_NO_MASE = (
    "no series has an in-sample seasonal error above 0: all are constant or shorter than a season; "
    "use another metric"
)
_ALL = (
    _Measure("mse", "MSE", (("scaled_squared", "count"),), _same, "values:scaled"),
    _Measure("mae", "MAE", (("scaled_absolute", "count"),), _same, "values:scaled"),
    _Measure("rmse", "RMSE", (("scaled_squared", "count"),), math.sqrt, "values:scaled"),
    _Measure("mse_units", "MSE in units", (("squared", "count"),), _same, "values:units"),
    _Measure("mae_units", "MAE in units", (("absolute", "count"),), _same, "values:units"),
    _Measure("rmse_units", "RMSE in units", (("squared", "count"),), math.sqrt, "values:units"),
    _Measure(
        "smape",
        "sMAPE",
        (("symmetric", "count"),),
        _same,
        "max:200",
        per_series=True,
        largest=200.0,
    ),
    _Measure("mase", "MASE", (("mase", "mase_count"),), _same, per_series=True, missing=_NO_MASE),
    _Measure(
        "owa",
        "OWA",
        (
            ("symmetric", "count"),
            ("naive2_symmetric", "count"),
            ("mase", "mase_count"),
            ("naive2_mase", "mase_count"),
        ),
        _overall,
        "ratio_of_means",
        per_series=True,
        missing="the errors of Naive2 or the seasonal errors are 0 or missing; use another metric",
    ),
    _Measure(
        "pinball",
        "Pinball loss",
        (("scaled_pinball", "count"),),
        _same,
        "values:scaled",
        missing=_NO_INTERVALS,
    ),
    _Measure(
        "pinball_units",
        "Pinball loss in units",
        (("pinball", "count"),),
        _same,
        "values:units",
        missing=_NO_INTERVALS,
    ),
    _Measure(
        "coverage",
        "Coverage",
        (("covered", "count"),),
        _percent,
        missing=_NO_INTERVALS,
        largest=100.0,
    ),
    _Measure(
        "width",
        "Width",
        (("scaled_width", "count"),),
        _same,
        "values:scaled",
        missing=_NO_INTERVALS,
    ),
    _Measure(
        "width_units",
        "Width in units",
        (("width", "count"),),
        _same,
        "values:units",
        missing=_NO_INTERVALS,
    ),
)


def available(errors: ErrorSums) -> tuple[str, ...]:
    """The names of the metrics that these errors have, as in `FORECAST_METRICS`."""
    return tuple(measure.name for measure in _ALL if not math.isnan(_value(measure, errors)))


def _score(errors: ErrorSums, measure: _Measure, resamples: int = 0) -> Score:
    """The score of a measure, with a bootstrap interval.

    Raises:
        DataError: these errors have no such score.
    """
    value = _value(measure, errors)
    if math.isnan(value):
        raise DataError(f"{measure.label}: {measure.missing}")
    low, high, interval = None, None, ""
    if resamples:
        low, high, interval = _interval(measure, errors, resamples)
    signature = "|".join(part for part in (_signature(measure, errors), interval) if part)
    return Score(measure.label, value, low, high, signature)


def _value(measure: _Measure, errors: ErrorSums) -> float:
    if not set(measure.sums) <= set(errors.by_window):
        return math.nan
    groups = errors.groups(measure.sums)
    sums = np.stack([windows.sum(axis=0) for windows in groups])  # (S, 2M)
    return measure.score(measure.statistics(sums).sum(axis=0))


def _interval(
    measure: _Measure, errors: ErrorSums, resamples: int
) -> tuple[float | None, float | None, str]:
    """The ends of the interval and what the signature says about it.

    Windows overlap, so neighbours are not independent: many series are resampled as a whole, few
    by blocks of consecutive windows. Few blocks differ by less than they should, so the interval is
    widened as that of a mean of so many values. Without three blocks there is none.
    """
    groups, blocks = errors.groups(measure.sums), errors.blocks()
    drawn = f"bs:{resamples}|seed:{SEED}"
    if len(groups) >= MANY_SERIES:
        sums = np.stack([windows.sum(axis=0) for windows in groups])
        low, high = bootstrap(measure.statistics(sums), measure.score, resamples)
        return low, high, f"interval:bootstrap95 of series|{drawn}"
    n_blocks = sum(len(windows) / block for windows, block in zip(groups, blocks, strict=True))
    if n_blocks < FEWEST_BLOCKS:
        made = f"{max(blocks)} windows make a block, and {FEWEST_BLOCKS} are needed"
        return None, None, f"interval:none, {made}"
    low, high = block_bootstrap(
        groups,
        blocks,
        lambda sums: measure.score(measure.statistics(sums).sum(axis=0)),
        resamples,
    )
    value, factor = _value(measure, errors), t_factor(n_blocks)
    low = max(0.0, value - factor * (value - low))
    high = min(measure.largest, value + factor * (high - value))
    of_blocks = f"blocks of {max(blocks)} windows, widened for {n_blocks:.0f} blocks"
    return low, high, f"interval:bootstrap95 of {of_blocks}|{drawn}"


def _signature(measure: _Measure, errors: ErrorSums) -> str:
    parts = [measure.name, measure.settings]
    uses = set(measure.sums)
    if "mase_count" in uses:
        parts.append(f"season:{errors.scales.season}")
    if uses & {"pinball", "scaled_pinball"}:
        parts.append(f"levels:{','.join(f'{level:g}' for level in errors.levels)}")
    if uses & {"covered", "width", "scaled_width"}:
        parts.append(f"interval_levels:{errors.levels[0]:g}-{errors.levels[-1]:g}")
    windows = errors.by_window["origin"]
    parts += [f"n:{len(windows)}", f"series:{len(errors.series)}", f"horizon:{errors.horizon}"]
    parts.append(f"windows:{errors.windows}")
    if errors.n_missing:
        parts.append(f"missing_targets:{errors.n_missing}")
    if "mase_count" in uses and (n_without := int((~errors.scales.has_mase[errors.series]).sum())):
        parts.append(f"left_out:{n_without} constant or short")
    return "|".join(part for part in parts if part)


FORECAST_METRICS: dict[str, Metric] = {
    measure.name: Metric(
        measure.label,
        partial(_score, measure=measure),
        lower_is_better=measure.name != "coverage",
        is_usual=measure.name in ("mse", "mae"),
        takes_references=False,
    )
    for measure in _ALL
}

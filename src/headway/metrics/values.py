"""Metrics of predicted numbers: correlations and errors.

A correlation measures whether the order (Spearman's) or the linear relation (Pearson's) is correct,
whatever the scale. It is from -1 to 1, not in percent, and 0 if one side is constant.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .interval import SEED, Z95, bootstrap
from .metric import Metric
from .score import Score

Numbers = NDArray[np.float64]


def pearson(outputs: Sequence[float], references: Sequence[float]) -> Score:
    """Pearson's correlation, with the interval of Fisher's transformation (Fisher 1921)."""
    value = _correlation(*_checked(outputs, references))
    return _score("pearson", value, len(outputs), "fisher95", 1.0)


def spearman(outputs: Sequence[float], references: Sequence[float]) -> Score:
    """Spearman's rank correlation; equal values share the mean of their ranks.

    The interval is Fisher's with the variance of ranks (Bonett and Wright 2000).
    """
    value = _correlation(*map(_ranks, _checked(outputs, references)))
    return _score("spearman", value, len(outputs), "bonett-wright95", 1 + value * value / 2)


def mean_squared_error(
    outputs: Sequence[float], references: Sequence[float], resamples: int = 0
) -> Score:
    """Mean of the squared differences, with a bootstrap interval."""
    predicted, right = _checked(outputs, references)
    return _mean_error("MSE", (predicted - right) ** 2, resamples, lambda mean: mean)


def root_mean_squared_error(
    outputs: Sequence[float], references: Sequence[float], resamples: int = 0
) -> Score:
    """Root of the mean of the squared differences, with a bootstrap interval."""
    predicted, right = _checked(outputs, references)
    return _mean_error("RMSE", (predicted - right) ** 2, resamples, math.sqrt)


def mean_absolute_error(
    outputs: Sequence[float], references: Sequence[float], resamples: int = 0
) -> Score:
    """Mean of the absolute differences, with a bootstrap interval."""
    predicted, right = _checked(outputs, references)
    return _mean_error("MAE", np.abs(predicted - right), resamples, lambda mean: mean)


def _mean_error(
    name: str, errors: Numbers, resamples: int, of_mean: Callable[[float], float]
) -> Score:
    """A function of the mean of some errors."""
    signature = f"{name.lower()}|n:{len(errors)}"
    low = high = None
    if resamples:
        signature += f"|interval:bootstrap95|bs:{resamples}|seed:{SEED}"
        statistics = np.stack([errors, np.ones_like(errors)], axis=1)
        low, high = bootstrap(statistics, lambda sums: of_mean(sums[0] / sums[1]), resamples)
    return Score(name, of_mean(float(errors.mean())), low, high, signature)


def _checked(outputs: Sequence[float], references: Sequence[float]) -> tuple[Numbers, Numbers]:
    if len(outputs) != len(references):
        raise DataError(
            f"{len(outputs)} outputs but {len(references)} references; expected one for each"
        )
    if not len(outputs):
        raise DataError("no values to score: got 0, expected at least 1; check the input")
    return np.asarray(outputs, np.float64), np.asarray(references, np.float64)


def _correlation(x: Numbers, y: Numbers) -> float:
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0
    x, y = x - x.mean(), y - y.mean()
    value = float((x / np.linalg.norm(x)) @ (y / np.linalg.norm(y)))
    return min(1.0, max(-1.0, value))  # rounding may exceed the bounds


def _ranks(values: Numbers) -> Numbers:
    """The ranks of values, from 1; ties get the mean of their ranks."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Numbers = (last - (counts - 1) / 2)[group]
    return ranks


def _score(name: str, value: float, n: int, interval: str, variance: float) -> Score:
    """A score; its interval is `tanh(atanh(value) +- z sqrt(variance / (n - 3)))` if n > 3."""
    signature = f"{name}|n:{n}"
    if n < 4:
        return Score(name.capitalize(), value, None, None, signature)
    signature += f"|interval:{interval}"
    if abs(value) == 1:
        return Score(name.capitalize(), value, value, value, signature)
    spread = Z95 * math.sqrt(variance / (n - 3))
    low, high = (math.tanh(math.atanh(value) + side * spread) for side in (-1, 1))
    return Score(name.capitalize(), value, low, high, signature)


VALUE_METRICS: dict[str, Metric] = {
    "spearman": Metric("Spearman", spearman, takes_resamples=False),
    "pearson": Metric("Pearson", pearson, takes_resamples=False),
    "mse": Metric("MSE", mean_squared_error, lower_is_better=True),
    "rmse": Metric("RMSE", root_mean_squared_error, lower_is_better=True),
    "mae": Metric("MAE", mean_absolute_error, lower_is_better=True),
}

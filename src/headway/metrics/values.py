"""How near predicted numbers are to the right ones: correlations and squared error.

A correlation tells whether the order (Spearman's) or the straight line (Pearson's) is right and
nothing of scale; it is from -1 to 1, not in percent, and 0 where either side is all the same.
"""

import math
from collections.abc import Sequence

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
    ours, right = _checked(outputs, references)
    squares = (ours - right) ** 2
    signature = f"mse|n:{len(ours)}"
    low = high = None
    if resamples:
        signature += f"|interval:bootstrap95|bs:{resamples}|seed:{SEED}"
        statistics = np.stack([squares, np.ones_like(squares)], axis=1)
        low, high = bootstrap(statistics, lambda sums: float(sums[0] / sums[1]), resamples)
    return Score("MSE", float(squares.mean()), low, high, signature)


def _checked(outputs: Sequence[float], references: Sequence[float]) -> tuple[Numbers, Numbers]:
    if len(outputs) != len(references):
        raise DataError(
            f"{len(outputs)} outputs but {len(references)} references; expected one for each"
        )
    if not len(outputs):
        raise DataError("no values to score: got 0, expected at least 1; check the input")
    return np.asarray(outputs, np.float64), np.asarray(references, np.float64)


def _correlation(one: Numbers, other: Numbers) -> float:
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return 0.0
    one, other = one - one.mean(), other - other.mean()
    value = float((one / np.linalg.norm(one)) @ (other / np.linalg.norm(other)))
    return min(1.0, max(-1.0, value))  # rounding may go beyond


def _ranks(values: Numbers) -> Numbers:
    """From 1 on, ties at the mean of their places."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    found: Numbers = (last - (counts - 1) / 2)[group]
    return found


def _score(name: str, value: float, n: int, interval: str, variance: float) -> Score:
    """With the interval `tanh(atanh(value) +- z sqrt(variance / (n - 3)))`, which needs n > 3."""
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
}

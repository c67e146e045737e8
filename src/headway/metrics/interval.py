"""95% intervals: the bootstrap for scores of summed statistics, Wilson's for shares.

The metrics define the statistics.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

SEED = 12345  # sacrebleu's default, so that our resamples are the ones sacrebleu draws
RESAMPLES = 1000
Z95 = 1.959963984540054


def bootstrap(
    statistics: NDArray[np.float64],
    score: Callable[[NDArray[np.float64]], float],
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> tuple[float, float]:
    """The central 95% of `score` over resampled test sets, as (low, high) (Koehn 2004).

    Draws one test set at a time, so memory does not grow with the number of resamples.

    Args:
        statistics: one row per sentence; the score of a test set depends on its column sums only.
    """
    n = len(statistics)
    generator = np.random.default_rng(seed)
    scores = []
    for _ in range(resamples):
        times_drawn = np.bincount(generator.integers(n, size=n), minlength=n)
        scores.append(score(times_drawn @ statistics))
    scores.sort()
    outside = resamples // 40  # 2.5% at each end
    return scores[outside], scores[resamples - outside - 1]


def wilson(right: int, n: int) -> tuple[float, float]:
    """Wilson's score interval for a share, in [0, 1] (Wilson 1927).

    Unlike the bootstrap it is valid near 0 and 1: for 1000 right of 1000 it starts at 0.996, not 1.
    """
    share, z2 = right / n, Z95 * Z95
    centre = share + z2 / (2 * n)
    spread = Z95 * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    # If all or none are right, one end is exactly 1 or 0; rounding must not change it.
    low = 0.0 if right == 0 else (centre - spread) / (1 + z2 / n)
    high = 1.0 if right == n else (centre + spread) / (1 + z2 / n)
    return low, high

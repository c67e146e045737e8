"""95% intervals: bootstraps for scores of summed statistics, Wilson's for shares.

The metrics define the statistics.
"""

import math
from collections.abc import Callable, Sequence

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

    Draws one test set at a time, so memory does not grow with the number of resamples. A test set
    without a score (NaN) is left out.

    Args:
        statistics: one row per sentence; the score of a test set depends on its column sums only.
    """
    n = len(statistics)
    generator = np.random.default_rng(seed)
    scores = []
    for _ in range(resamples):
        times_drawn = np.bincount(generator.integers(n, size=n), minlength=n)
        scores.append(score(times_drawn @ statistics))
    return _central(scores)


def t_factor(n: float) -> float:
    """How much wider than by the normal distribution the interval of a mean of n values is.

    The 97.5% quantile of Student's t with n - 1 degrees of freedom (Abramowitz and Stegun 1964,
    26.7.5), divided by that of the normal distribution; within 1% from n = 3 on.
    """
    z, freedom = Z95, n - 1
    terms = (
        (z**2 + 1) / 4,
        (5 * z**4 + 16 * z**2 + 3) / 96,
        (3 * z**6 + 19 * z**4 + 17 * z**2 - 15) / 384,
        (79 * z**8 + 776 * z**6 + 1482 * z**4 - 1920 * z**2 - 945) / 92160,
    )
    return 1 + sum(term / freedom**power for power, term in enumerate(terms, 1))


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


def _central(scores: list[float]) -> tuple[float, float]:
    ordered = sorted(score for score in scores if not math.isnan(score))
    outside = len(ordered) // 40  # 2.5% at each end
    return ordered[outside], ordered[len(ordered) - outside - 1]


def block_bootstrap(
    groups: Sequence[NDArray[np.float64]],
    blocks: Sequence[int],
    score: Callable[[NDArray[np.float64]], float],
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> tuple[float, float]:
    """The central 95% of `score` if neighbouring rows depend on each other, as (low, high).

    Draws circular blocks of consecutive rows in place of rows (Politis and Romano 1992), within
    each group.

    Args:
        groups: statistics in order, one row per window; `score` gets the sums of each group.
        blocks: rows of a block, for each group.
    """
    generator = np.random.default_rng(seed)
    plans = [_BlockSums(rows, block) for rows, block in zip(groups, blocks, strict=True)]
    return _central(
        [score(np.stack([plan.draw(generator) for plan in plans])) for _ in range(resamples)]
    )


class _BlockSums:
    """The sums of all circular blocks of rows, to draw test sets of as many rows."""

    def __init__(self, rows: NDArray[np.float64], block: int) -> None:
        block = min(block, len(rows))
        n_whole, rest = divmod(len(rows), block)
        self.whole, self.rest = (_circular_sums(rows, length) for length in (block, rest))
        self.n_whole, self.has_rest = n_whole, rest > 0

    def draw(self, generator: np.random.Generator) -> NDArray[np.float64]:
        n = len(self.whole)
        total: NDArray[np.float64] = self.whole[generator.integers(n, size=self.n_whole)].sum(0)
        return total + self.rest[generator.integers(n)] if self.has_rest else total


def _circular_sums(rows: NDArray[np.float64], length: int) -> NDArray[np.float64]:
    """Sums of `length` consecutive rows from each row on; after the last follows the first."""
    around = np.concatenate([np.zeros_like(rows[:1]), rows, rows[:length]]).cumsum(axis=0)
    return np.asarray(around[length : length + len(rows)] - around[: len(rows)])

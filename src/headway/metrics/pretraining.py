"""How much of what was damaged a model restores: loss and share of right answers.

Statistics come by example: what an example asks goes together when sets are resampled.
"""

import numpy as np
from numpy.typing import ArrayLike

from ..errors import DataError
from .interval import SEED, bootstrap, wilson
from .score import Score


def restored_loss(what: str, nll: ArrayLike, counts: ArrayLike, resamples: int = 0) -> Score:
    """Mean negative log likelihood of the right answer, in nats.

    Args:
        what: is asked for, such as `masked`.
        nll: the sum of each example.
        counts: how much each example asks.
    """
    parts = _parts(what, nll, counts)
    low = high = None
    signature = f"nats|per:{what}"
    if resamples and len(parts) > 1:
        signature += f"|interval:bootstrap95|bs:{resamples}|seed:{SEED}"
        low, high = bootstrap(parts, lambda sums: sums[0] / max(sums[1], 1), resamples)
    total, count = parts.sum(axis=0)
    return Score(f"{what} loss", total / count, low, high, f"{signature}|n:{round(count)}")


def restored_share(what: str, right: ArrayLike, counts: ArrayLike, resamples: int = 0) -> Score:
    """Share of right answers in percent.

    The interval is Wilson's where no example asks more than once, or else from resampling.
    """
    parts = _parts(what, right, counts)
    total, count = (round(value) for value in parts.sum(axis=0))
    low = high = None
    signature = f"accuracy|of:{what}"
    if resamples and parts[:, 1].max() <= 1:
        signature += "|interval:wilson95"
        low, high = (100 * end for end in wilson(total, count))
    elif resamples and len(parts) > 1:
        signature += f"|interval:bootstrap95|bs:{resamples}|seed:{SEED}"
        low, high = bootstrap(parts, lambda sums: 100 * sums[0] / max(sums[1], 1), resamples)
    return Score(f"{what} accuracy", 100 * total / count, low, high, f"{signature}|n:{count}")


def _parts(what: str, values: ArrayLike, counts: ArrayLike) -> np.ndarray:
    parts = np.stack([np.atleast_1d(values), np.atleast_1d(counts)], axis=1).astype(np.float64)
    if round(parts[:, 1].sum()) < 1:
        raise DataError(f"nothing to score: no {what} is asked for in all of the data; give more")
    return parts

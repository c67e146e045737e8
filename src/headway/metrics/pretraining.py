"""Metrics of pre-training: loss and accuracy of the predictions that restore corrupted text.

Statistics are per example: the bootstrap resamples examples, not single predictions.
"""

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from ..errors import DataError
from .interval import SEED, bootstrap, wilson
from .metric import Metric
from .score import Score


def restored_loss(part: str, nll: ArrayLike, counts: ArrayLike, resamples: int = 0) -> Score:
    """Mean negative log likelihood of the labels, in nats.

    Args:
        part: the part of the loss, such as `masked`.
        nll: the sum of each example.
        counts: the number of labels of each example.
    """
    statistics = _statistics(part, nll, counts)
    low = high = None
    signature = f"nats|per:{part}"
    if resamples and len(statistics) > 1:
        signature += f"|interval:bootstrap95|bs:{resamples}|seed:{SEED}"
        low, high = bootstrap(statistics, lambda sums: sums[0] / max(sums[1], 1), resamples)
    total, count = statistics.sum(axis=0)
    return Score(f"{part} loss", total / count, low, high, f"{signature}|n:{round(count)}")


def restored_share(part: str, right: ArrayLike, counts: ArrayLike, resamples: int = 0) -> Score:
    """Share of correct predictions in percent.

    The interval is Wilson's if no example has more than one label, otherwise a bootstrap.
    """
    statistics = _statistics(part, right, counts)
    total, count = (round(value) for value in statistics.sum(axis=0))
    low = high = None
    signature = f"accuracy|of:{part}"
    if resamples and statistics[:, 1].max() <= 1:
        signature += "|interval:wilson95"
        low, high = (100 * end for end in wilson(total, count))
    elif resamples and len(statistics) > 1:
        signature += f"|interval:bootstrap95|bs:{resamples}|seed:{SEED}"
        low, high = bootstrap(statistics, lambda sums: 100 * sums[0] / max(sums[1], 1), resamples)
    return Score(f"{part} accuracy", 100 * total / count, low, high, f"{signature}|n:{count}")


def _statistics(part: str, values: ArrayLike, counts: ArrayLike) -> np.ndarray:
    statistics = np.stack([np.atleast_1d(values), np.atleast_1d(counts)], axis=1).astype(np.float64)
    if round(statistics[:, 1].sum()) < 1:
        raise DataError(f"nothing to score: the data have no label for {part!r}; add more data")
    return statistics


LABELS = {"masked": "Masked words", "next": "Next sentences", "token": "Tokens"}


def pretraining_metrics(*parts: str) -> dict[str, Metric]:
    """The metrics of the parts of a loss."""
    metrics = {}
    for part in parts:
        loss = partial(restored_loss, part)
        metrics[f"{part}_loss"] = Metric(f"{part} loss", loss, lower_is_better=True)
        metrics[f"{part}_accuracy"] = Metric(LABELS[part], partial(restored_share, part))
    return metrics

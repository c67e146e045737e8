"""Metrics of labels: accuracy, and macro F1, in which every class has the same weight."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .interval import SEED, bootstrap, wilson
from .metric import Metric
from .references import alternatives
from .score import Score


def accuracy(outputs: Sequence[str], references: Sequence[str]) -> Score:
    """Share of outputs that equal the reference, in percent, with Wilson's interval."""
    alternatives(outputs, references)  # refuses empty lists and lists of different lengths
    n = len(references)
    right = sum(output == label for output, label in zip(outputs, references, strict=True))
    low, high = wilson(right, n)
    signature = f"accuracy|n:{n}|interval:wilson95"
    return Score("accuracy", 100 * right / n, 100 * low, 100 * high, signature)


def macro_f1(outputs: Sequence[str], references: Sequence[str], resamples: int = 0) -> Score:
    """Mean of `2 tp / (predicted + true)` over the classes, in percent, with a bootstrap interval.

    The classes are those that occur in outputs or references, in each resampled set separately.
    """
    alternatives(outputs, references)  # refuses empty lists and lists of different lengths
    index = {label: i for i, label in enumerate(sorted({*outputs, *references}))}
    predicted = _one_hot([index[label] for label in outputs], len(index))
    true = _one_hot([index[label] for label in references], len(index))
    statistics = np.concatenate([predicted * true, predicted + true], axis=1)  # (n, 2C)
    signature = f"macro_f1|classes:{len(index)}|n:{len(references)}"
    low = high = None
    if resamples:
        signature += f"|interval:bootstrap95|bs:{resamples}|seed:{SEED}"
        low, high = bootstrap(statistics, _macro_f1, resamples)
    return Score("macro F1", _macro_f1(statistics.sum(axis=0)), low, high, signature)


def _macro_f1(sums: NDArray[np.float64]) -> float:
    both, either = np.split(sums, 2)
    occurs = either > 0
    return float(100 * np.mean(2 * both[occurs] / either[occurs]))


def _one_hot(indices: Sequence[int], size: int) -> NDArray[np.float64]:
    rows = np.zeros((len(indices), size))
    rows[np.arange(len(indices)), indices] = 1.0
    return rows


LABEL_METRICS: dict[str, Metric] = {
    "accuracy": Metric("Accuracy", accuracy, takes_resamples=False),
    "macro_f1": Metric("Macro F1", macro_f1),
}

"""Cross-entropy, perplexity and bits per unit, from negative log likelihoods.

Inputs are natural logarithms: one sum, or the sums of the parts of a text (lines, windows), over
which the bootstrap computes an interval.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from ..errors import DataError
from .interval import SEED, bootstrap
from .metric import Metric
from .score import Score


def cross_entropy(nll: ArrayLike, n_tokens: ArrayLike, resamples: int = 0) -> Score:
    """Mean negative log likelihood of a token, in nats."""
    return _score("loss", "nats|per:token", "tokens", nll, n_tokens, resamples, float)


def perplexity(nll: ArrayLike, n_tokens: ArrayLike, resamples: int = 0) -> Score:
    """exp(mean negative log likelihood per token); infinite if it exceeds a float."""
    name = "perplexity"
    return _score(name, "perplexity|per:token", "tokens", nll, n_tokens, resamples, _exp)


def word_perplexity(nll: ArrayLike, n_words: ArrayLike, resamples: int = 0) -> Score:
    """exp(mean negative log likelihood per word); white space separates words."""
    signature = "perplexity|per:word|words:white-space"
    return _score("word perplexity", signature, "words", nll, n_words, resamples, _exp)


def bits_per_token(nll: ArrayLike, n_tokens: ArrayLike, resamples: int = 0) -> Score:
    """Mean negative log2 likelihood of a token; comparable only under the same tokenizer."""
    name = "bits per token"
    return _score(name, "bits|per:token", "tokens", nll, n_tokens, resamples, _bits)


def bits_per_character(nll: ArrayLike, n_characters: ArrayLike, resamples: int = 0) -> Score:
    """Negative log2 likelihood per Unicode character; comparable between tokenizers."""
    name, signature = "bits per character", "bits|per:character"
    return _score(name, signature, "characters", nll, n_characters, resamples, _bits)


def bits_per_byte(nll: ArrayLike, n_bytes: ArrayLike, resamples: int = 0) -> Score:
    """Negative log2 likelihood per byte of the UTF-8 text; comparable between tokenizers."""
    name = "bits per byte"
    return _score(name, "bits|per:utf8-byte", "bytes", nll, n_bytes, resamples, _bits)


def _exp(mean: float) -> float:
    return math.exp(mean) if mean < 709 else math.inf


def _bits(mean: float) -> float:
    return mean / math.log(2)


def _score(
    name: str,
    signature: str,
    unit: str,
    nll: ArrayLike,
    counts: ArrayLike,
    resamples: int,
    of_mean: Callable[[float], float],
) -> Score:
    """`of_mean` of the mean over all counts.

    Args:
        unit: name of the counted units in messages.
        nll: the sum, or one sum for each part.
        counts: the number of units, in all or in each part.
    """
    parts = np.stack([np.atleast_1d(nll), np.atleast_1d(counts)], axis=1).astype(np.float64)
    total, count = parts.sum(axis=0)
    if round(count) < 1:
        raise DataError(
            f"no {unit} to score: got a count of {round(count)}, expected at least 1; "
            "check the input"
        )
    low = high = None
    if resamples and len(parts) > 1:
        signature += f"|interval:bootstrap95|bs:{resamples}|seed:{SEED}"
        low, high = bootstrap(parts, lambda sums: of_mean(sums[0] / max(sums[1], 1)), resamples)
    return Score(name, of_mean(total / count), low, high, f"{signature}|n:{round(count)}")


LANGUAGE_METRICS = {
    "loss": Metric("Loss", cross_entropy, lower_is_better=True),
    "perplexity": Metric("Perplexity", perplexity, lower_is_better=True),
    "bits_per_character": Metric("Bits per character", bits_per_character, lower_is_better=True),
    "bits_per_byte": Metric("Bits per byte", bits_per_byte, lower_is_better=True),
    "word_perplexity": Metric("Word perplexity", word_perplexity, lower_is_better=True),
}
"""Metrics of negative log likelihoods and the numbers of their units."""

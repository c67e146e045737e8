"""How surprised a model is: perplexity and bits, from a summed negative log likelihood.

Natural logarithms come in. Sums carry no spread, so these scores have no interval.
"""

import math

from headway.errors import DataError
from headway.metrics.score import Score


def perplexity(nll_sum: float, n_tokens: int) -> Score:
    """exp(mean negative log likelihood per token); infinite where that is beyond a float."""
    mean = _mean(nll_sum, n_tokens, "tokens")
    value = math.exp(mean) if mean < 709 else math.inf
    return Score("perplexity", value, None, None, f"perplexity|per:token|n:{n_tokens}")


def bits_per_token(nll_sum: float, n_tokens: int) -> Score:
    """Mean negative log2 likelihood of a token; comparable only under the same tokenizer."""
    value = _mean(nll_sum, n_tokens, "tokens") / math.log(2)
    return Score("bits per token", value, None, None, f"bits|per:token|n:{n_tokens}")


def bits_per_byte(nll_sum: float, n_bytes: int) -> Score:
    """Negative log2 likelihood per byte of the UTF-8 text; comparable between tokenizers."""
    value = _mean(nll_sum, n_bytes, "bytes") / math.log(2)
    return Score("bits per byte", value, None, None, f"bits|per:utf8-byte|n:{n_bytes}")


def _mean(nll_sum: float, count: int, what: str) -> float:
    if count < 1:
        raise DataError(
            f"no {what} to score: got a count of {count}, expected at least 1; check the input"
        )
    return nll_sum / count

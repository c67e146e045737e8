import math

import pytest

from headway.errors import DataError
from headway.metrics.perplexity import bits_per_byte, bits_per_token, perplexity


def test_uniform_over_eight():
    nll = 10 * math.log(8)
    assert perplexity(nll, 10).value == pytest.approx(8)
    assert bits_per_token(nll, 10).value == pytest.approx(3)
    assert bits_per_byte(nll, 30).value == pytest.approx(1)


def test_certainty_and_despair():
    assert perplexity(0.0, 5).value == 1
    assert perplexity(1e6, 1).value == math.inf


def test_signatures():
    assert perplexity(1.0, 7).signature == "perplexity|per:token|n:7"
    assert bits_per_byte(1.0, 7).signature == "bits|per:utf8-byte|n:7"
    assert perplexity(1.0, 7).low is None


def test_no_tokens():
    with pytest.raises(DataError, match=r"^no bytes to score: got a count of 0"):
        bits_per_byte(0.0, 0)

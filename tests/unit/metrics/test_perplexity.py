import math

import pytest

from headway.errors import DataError
from headway.metrics.perplexity import (
    bits_per_byte,
    bits_per_character,
    bits_per_token,
    cross_entropy,
    perplexity,
    word_perplexity,
)


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


def test_parts_give_the_figure_of_their_sum_and_an_interval():
    parts, counts = [1.0, 4.0, 2.5], [2, 3, 5]
    whole, apart = cross_entropy(7.5, 10), cross_entropy(parts, counts, resamples=200)
    assert apart.value == whole.value == 0.75
    assert apart.low < 0.75 < apart.high
    assert apart.low >= 0.5
    assert apart.high <= 4 / 3  # of the part that is hardest
    assert apart.signature == "nats|per:token|interval:bootstrap95|bs:200|seed:12345|n:10"
    assert perplexity(parts, counts, 200).low == pytest.approx(math.exp(apart.low))
    assert bits_per_character(parts, counts, 200).high == pytest.approx(apart.high / math.log(2))


def test_one_part_has_no_interval():
    score = word_perplexity([4 * math.log(3)], [4], resamples=200)
    assert score.value == pytest.approx(3)
    assert (score.low, score.high) == (None, None)
    assert score.signature == "perplexity|per:word|words:white-space|n:4"


def test_shares_of_characters_add_up():
    assert bits_per_character([math.log(2)] * 2, [0.5, 2.5]).signature.endswith("|n:3")

import pytest

from headway.errors import DataError
from headway.metrics.exact import exact_match


def test_share_and_interval():
    score = exact_match(["a", "b", "c", "d"], ["a", "b", "x", "d"])
    assert score.value == 75
    assert 0 < score.low < 75 < score.high < 100
    assert score.signature == "exact|n:4|interval:wilson95"
    assert score.to_dict() == {
        "value": 75,
        "low": score.low,
        "high": score.high,
        "signature": score.signature,
    }


def test_nothing_is_normalised():
    assert exact_match(["A", "b ", "e\u0301"], ["a", "b", "\u00e9"]).value == 0


def test_any_reference_may_match():
    score = exact_match(["a"], [["b", "a"]])
    assert score.value == 100
    assert score.high == 100
    assert score.signature == "exact|any-of-references|nrefs:2|n:1|interval:wilson95"


def test_errors_in_words():
    with pytest.raises(DataError, match=r"^3 outputs but 1 references"):
        exact_match(["a", "b", "c"], ["a"])

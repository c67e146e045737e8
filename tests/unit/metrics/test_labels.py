"""Accuracy and macro F1: cases by hand, scikit-learn's figures, intervals."""

import random

import pytest

from headway.errors import DataError
from headway.metrics.labels import accuracy, macro_f1


def test_accuracy_by_hand():
    score = accuracy(["a", "b", "b", "c"], ["a", "b", "c", "c"])
    assert score.value == 75.0
    assert score.low == pytest.approx(30.06, abs=0.01)  # Wilson's for 3 of 4
    assert score.high == pytest.approx(95.44, abs=0.01)
    assert score.signature == "accuracy|n:4|interval:wilson95"


def test_macro_f1_by_hand():
    # a: all right; b: 1 of 2 predicted, 1 of 1 found; c: 1 of 1 predicted, 1 of 2 found
    score = macro_f1(["a", "b", "b", "c"], ["a", "b", "c", "c"])
    assert score.value == pytest.approx(100 * (1 + 2 / 3 + 2 / 3) / 3)
    assert (score.low, score.high) == (None, None)
    assert score.signature == "macro_f1|classes:3|n:4"


def test_always_the_frequent_class_is_accurate_and_no_good():
    right = ["a"] * 9 + ["b"]
    assert accuracy(["a"] * 10, right).value == 90.0
    assert macro_f1(["a"] * 10, right).value == pytest.approx(100 * (18 / 19) / 2)


def test_macro_f1_is_that_of_scikit_learn():
    from sklearn import metrics

    draw = random.Random(1)
    for names in ("ab", "abcde"):
        outputs, right = (draw.choices(names, k=60) for _ in range(2))
        expected = 100 * metrics.f1_score(right, outputs, average="macro")
        assert macro_f1(outputs, right).value == pytest.approx(expected)


def test_the_interval_holds_the_value():
    draw = random.Random(2)
    right = draw.choices("abc", k=200)
    outputs = [label if draw.random() < 0.8 else "a" for label in right]
    score = macro_f1(outputs, right, resamples=200)
    assert score.low < score.value < score.high
    assert score.high - score.low < 20
    assert score.signature.endswith("|interval:bootstrap95|bs:200|seed:12345")


@pytest.mark.parametrize("metric", [accuracy, macro_f1])
def test_lists_that_do_not_fit_are_errors(metric):
    with pytest.raises(DataError, match="2 outputs but 1 references"):
        metric(["a", "b"], ["a"])
    with pytest.raises(DataError, match="no outputs to score"):
        metric([], [])

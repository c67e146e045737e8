"""Exact match and F1 of answers: normalisation, several references, none, intervals."""

import random

import pytest

from headway.errors import DataError
from headway.metrics.answers import answer_f1, exact_answers, normal_answer


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The Normans", "normans"),
        ("  in the\t10th   century. ", "in 10th century"),
        ("an apple, a day", "apple day"),
        ("U.S.A.", "usa"),
        ("well-known", "wellknown"),
        ("theatre", "theatre"),
        ("a.n. other", "other"),  # without its points it is an article
        ("“the” answer’s", "“ ” answer’s"),  # typographic marks stay, around an article too
        ("Ärzte", "ärzte"),
        ("The", ""),
    ],
)
def test_what_is_compared(text, normal):
    assert normal_answer(text) == normal


def test_f1_by_hand():
    # 2 common words of 3 and 2: precision 2/3, recall 1, F1 0.8
    assert answer_f1(["in northern France"], [["Northern France"]]).value == pytest.approx(80)
    # a word counts as often as both have it
    assert answer_f1(["x x x"], [["x x y"]]).value == pytest.approx(100 * 2 / 3)
    assert answer_f1(["x"], [["y"]]).value == 0.0


def test_the_nearest_of_several_right_answers_counts():
    references = [["the 10th century", "10th and 11th centuries"], ["Paris", "Rome"]]
    outputs = ["10th", "rome."]
    assert answer_f1(outputs, references).value == pytest.approx(100 * (2 / 3 + 1) / 2)
    assert exact_answers(outputs, references).value == 50.0


def test_no_answer_is_an_answer():
    references = [[], [], ["Paris"], ["the"]]
    outputs = ["", "Paris", "", ""]
    assert exact_answers(outputs, references).value == 50.0
    assert answer_f1(outputs, references).value == 50.0
    assert answer_f1(["the"], [[]]).value == 100.0  # nothing is left of it


def test_intervals_and_signatures():
    draw = random.Random(3)
    outputs = [draw.choice(["a b c", "b c", "d"]) for _ in range(200)]
    references = [["b c"]] * 200
    exact, f1 = exact_answers(outputs, references), answer_f1(outputs, references, resamples=200)
    for score in (exact, f1):
        assert score.low < score.value < score.high
    assert exact.signature == "exact|normal:squad|n:200|interval:wilson95"
    assert f1.signature == "f1|normal:squad|n:200|interval:bootstrap95|bs:200|seed:12345"
    assert answer_f1(outputs, references).low is None


@pytest.mark.parametrize("metric", [exact_answers, answer_f1])
def test_lists_that_do_not_fit_are_errors(metric):
    with pytest.raises(DataError, match="2 answers but 1 lists of references"):
        metric(["a", "b"], [["a"]])
    with pytest.raises(DataError, match="no answers to score"):
        metric([], [])

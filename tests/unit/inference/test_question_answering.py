"""Answerers in use: answers and their spans, candidates, windows, evaluation, inspection."""

from dataclasses import astuple

import pytest
from predictor_runs import QUESTIONS

import headway
from headway.errors import DataError
from headway.inference.question_answering import _candidates
from headway.tasks.answer import Guess


@pytest.fixture(scope="module")
def answerer(predictors):
    return headway.load(predictors / "answer")


def test_answers_have_their_places(answerer):
    assert isinstance(answerer, headway.Answerer)
    found, none = answerer.predict([(question, context) for question, context, _ in QUESTIONS])
    assert (found.text, found.start, found.end) == ("Rome", 10, 14)
    assert found.candidates[0].text == "Rome"
    assert found.probability == found.candidates[0].probability
    assert (none.text, none.start, none.end) == ("", None, None)
    assert none.probability == none.none > 0.5
    assert answerer.predict([("where ?", "")])[0].text == ""
    with pytest.raises(
        TypeError, match=r"^predict: inputs\[0\] is 'where \?' .*expected a pair of texts"
    ):
        answerer.predict(["where ?"])
    with pytest.raises(
        DataError, match=r"^question 1: expected a question and a text, got \('where"
    ):
        answerer.predict([("where ?",)])


def test_parts_that_differ_by_white_space_alone_are_one():
    guesses = [Guess(2, 6, 0.4), Guess(3, 6, 0.3), Guess(0, 6, 0.2), Guess(2, 7, 0.1)]
    assert [astuple(one) for one in _candidates("in Rome today", guesses)] == [
        ("Rom", 3, 6, 0.4),
        ("in Rom", 0, 6, 0.2),
        ("Rome", 3, 7, 0.1),
    ]


def test_answers_are_evaluated(answerer):
    rome = '[{"text": "Rome", "answer_start": 10}]'
    asked = [(question, context) for question, context, _ in QUESTIONS]
    result = answerer.evaluate(asked, [rome, "[]"])
    assert set(result.scores) == set(answerer.task.metrics)
    assert result.scores["f1"].value == 100.0
    assert result.outputs == ["Rome", ""]
    assert set(answerer.evaluate(asked[:1], [rome]).scores) == {"f1", "exact"}
    with pytest.raises(DataError, match=r"^question 1: the answer 'Rome' is not at character 9 of"):
        answerer.evaluate(asked[:1], [rome.replace("10", "9")])
    with pytest.raises(DataError, match=r"^question 1: 'Rome' are no answers; expected JSON such"):
        answerer.evaluate(asked[:1], ["Rome"])


def test_answers_are_seen_with_their_places(answerer):
    question, context, _ = QUESTIONS[0]
    found = answerer.inspect((question, context))
    [answered] = answerer.predict([(question, context)])
    best = found.outputs[0]
    assert (best.output.text, best.span) == ("Rome", (10, 14))
    assert [one.output.text for one in found.outputs[:-1]] == [
        one.text for one in answered.candidates
    ]
    assert (found.outputs[-1].output.text, found.outputs[-1].span) == ("⟨none⟩", None)
    assert found.outputs[-1].output.score == answered.none
    assert found.text == f"{question}\t{context}"
    none = answerer.inspect(QUESTIONS[1][:2])
    assert none.outputs[0].output.text == "⟨none⟩"


def test_of_a_long_text_the_window_with_the_answer_is_seen(answerer):
    context = "it sat " * 12 + "in Rome"
    found = answerer.inspect(("where ?", context))
    start, end = next(one.span for one in found.outputs if one.span)
    assert len(found.tokens) == 12
    assert context[start:end].split()[-1] in found.tokens
    with pytest.raises(DataError, match=r"^the text has 7 tokens, and of the 12 .*; shorten it$"):
        answerer.inspect(("it " * 7, context))


def test_a_question_may_take_half_of_the_room(answerer):
    """Of 12 tokens at least 6 are left to the text."""
    context = QUESTIONS[0][1]
    assert answerer.length(("it " * 6, context), "q", "shorten it") > 0
    for ask in (lambda q: answerer.predict([q]), lambda q: answerer.length(q, "q", "shorten it")):
        with pytest.raises(DataError, match="has 7 tokens, and of the 12 that the model reads at"):
            ask(("it " * 7, context))
    [cut] = answerer.predict([("it " * 7, context)], "cut")
    assert [cut] == answerer.predict([("it " * 6, context)])


def test_the_length_of_an_input_counts_all_windows(answerer):
    question, short, long = "where ?", "it sat in Rome", "it sat " * 12
    whole, parts = (answerer.task.encode([question], [text])[0] for text in (short, long))
    assert answerer.length((question, short), "q", "") == len(whole.question) + len(whole.document)
    n_windows = len(answerer.task.windows_of(parts))
    assert n_windows > 1
    expected = n_windows * len(parts.question) + len(parts.document)
    assert answerer.length((question, long), "q", "") >= expected, "windows overlap"


def test_metrics_by_part_need_both_sorts_of_questions(answerer):
    assert set(answerer.usual_metrics([["Rome"], []])) == set(answerer.task.metrics)
    assert set(answerer.usual_metrics([["Rome"]])) == {"f1", "exact"}
    assert set(answerer.usual_metrics([[]])) == {"f1", "exact"}


def test_answers_are_written_in_one_line(answerer):
    assert answerer.format_output("in\n  Rome") == "in Rome"
    [found] = answerer.predict([QUESTIONS[0][:2]])
    assert answerer.format_prediction(found) == f"Rome\t{found.probability:.6f}"
    assert answerer.to_dict(found)["answer"]["start"] == 10
    assert answerer.label_space() == {"answers_may_lack": True}
    assert answerer.describe_label_space() == "may say that there is none"

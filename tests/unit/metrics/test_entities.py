"""Entities and their F1: cases by hand, every short sentence as seqeval reads it, intervals."""

import random
import warnings
from itertools import product

import pytest

from headway.errors import DataError
from headway.metrics.entities import (
    entities,
    entity_f1,
    entity_precision,
    entity_recall,
    tag_accuracy,
)

TAGS = ("O", "B-X", "I-X", "B-Y", "I-Y")
SHORT = [list(tags) for n in range(1, 6) for tags in product(TAGS, repeat=n)]


def test_entities_by_hand():
    tags = ["B-PER", "I-PER", "O", "I-LOC", "B-LOC", "I-PER"]
    assert entities(tags) == [("PER", 0, 2), ("LOC", 3, 4), ("LOC", 4, 5), ("PER", 5, 6)]
    assert entities(tags, "bio") == [("PER", 0, 2), ("LOC", 4, 5)]
    # B-PER begins the sentence, where IOB1 has no B: only its I is an entity
    iob1 = [("PER", 1, 2), ("LOC", 3, 4), ("LOC", 4, 5), ("PER", 5, 6)]
    assert entities(tags, "iob1") == iob1
    assert entities([], "lenient") == []


def test_plain_tags_are_an_entity_each():
    assert entities(["NN", "NN", "O", "I-X"], "plain") == [
        ("NN", 0, 1),
        ("NN", 1, 2),
        ("I-X", 3, 4),
    ]
    outputs, right = [["NN", "VB", "DT"], ["NN"]], [["NN", "NN", "DT"], ["NN"]]
    assert entity_f1(outputs, right, "plain").value == 75.0
    assert tag_accuracy(outputs, right).value == 75.0


def test_types_may_hold_hyphens_or_be_left_out():
    assert entities(["B-per-son", "I-per-son", "B", "I", "I"]) == [("per-son", 0, 2), ("", 2, 5)]


def test_every_short_sentence_is_read_as_seqeval_does_by_default():
    from seqeval.metrics.sequence_labeling import get_entities

    for tags in SHORT:
        expected = [(name, start, last + 1) for name, start, last in get_entities(tags)]
        assert entities(tags) == expected, tags


@pytest.mark.parametrize("reading", ["bio", "iob1"])
def test_every_short_sentence_is_read_as_seqeval_does_when_strict(reading):
    from seqeval import scheme

    tags_as = {"bio": scheme.IOB2, "iob1": scheme.IOB1}[reading]
    for tags in SHORT:
        expected = [e.to_tuple()[1:] for e in scheme.Tokens(tags, tags_as, sent_id=0).entities]
        assert entities(tags, reading) == expected, tags


def drawn(seed, n=40):
    draw = random.Random(seed)
    right = [draw.choices(TAGS, weights=(4, 1, 1, 1, 1), k=draw.randint(1, 9)) for _ in range(n)]
    outputs = [
        [tag if draw.random() < 0.8 else draw.choice(TAGS) for tag in sentence]
        for sentence in right
    ]
    return outputs, right


@pytest.mark.parametrize("reading", ["lenient", "bio", "iob1"])
def test_the_figures_are_those_of_seqeval(reading):
    from seqeval import metrics, scheme

    strict = {"bio": scheme.IOB2, "iob1": scheme.IOB1}.get(reading)
    how = {"mode": "strict", "scheme": strict} if strict else {}
    pairs = [
        (entity_f1, metrics.f1_score),
        (entity_precision, metrics.precision_score),
        (entity_recall, metrics.recall_score),
    ]
    for seed in range(5):
        outputs, right = drawn(seed)
        for ours, theirs in pairs:
            expected = 100 * theirs(right, outputs, **how)
            assert ours(outputs, right, reading).value == pytest.approx(expected)
        expected = 100 * metrics.accuracy_score(right, outputs)
        assert tag_accuracy(outputs, right).value == pytest.approx(expected)


def test_f1_by_hand():
    right = [["B-X", "I-X", "O", "B-Y"], ["O", "O"]]
    outputs = [["B-X", "O", "O", "B-Y"], ["B-Y", "O"]]  # 1 of 3 is right, 1 of 2 found
    assert entity_precision(outputs, right).value == pytest.approx(100 / 3)
    assert entity_recall(outputs, right).value == 50.0
    score = entity_f1(outputs, right)
    assert (score.value, score.low, score.high) == (40.0, None, None)
    assert score.signature == "entity_f1|reading:lenient|entities:2|sentences:2"


def test_without_entities_there_is_nothing_to_find():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for metric in (entity_f1, entity_precision, entity_recall):
            assert metric([["O"]], [["O"]], resamples=20).value == 0.0
    assert tag_accuracy([["O"]], [["O"]]).value == 100.0


def test_the_interval_holds_the_value():
    score = entity_f1(*drawn(7, 200), resamples=200)
    assert score.low < score.value < score.high
    assert score.high - score.low < 15
    assert score.signature.endswith("|interval:bootstrap95|bs:200|seed:12345")
    accuracy = tag_accuracy([["O"] * 4], [["O", "O", "O", "B-X"]])
    assert accuracy.low == pytest.approx(30.06, abs=0.01)  # Wilson's for 3 of 4


@pytest.mark.parametrize("metric", [entity_f1, tag_accuracy])
def test_lists_that_do_not_fit_are_errors(metric):
    with pytest.raises(DataError, match="2 tagged sentences but 1 references"):
        metric([["O"], ["O"]], [["O"]])
    with pytest.raises(DataError, match="sentence 2 has 1 tags and its reference 2"):
        metric([["O"], ["O"]], [["O"], ["O", "O"]])
    with pytest.raises(DataError, match="no sentences to score"):
        metric([], [])


def test_sentences_without_words_have_no_tags():
    with pytest.raises(DataError, match="no tags to score"):
        tag_accuracy([[]], [[]])

import logging
import math
import random

import pytest
from sacrebleu.metrics import BLEU, CHRF, TER

from headway.errors import DataError
from headway.metrics.translation import bleu, chrf, ter


@pytest.fixture(scope="module")
def corpus():
    draw = random.Random(0)
    words = [f"w{i}" for i in range(60)]
    references, hypotheses = [], []
    for _ in range(120):
        line = [draw.choice(words) for _ in range(draw.randint(4, 12))]
        references.append(" ".join(line))
        hypotheses.append(" ".join(w if draw.random() < 0.8 else draw.choice(words) for w in line))
    return hypotheses, references


def test_bleu_by_hand():
    # 1-grams 5/5, 2-grams 4/4, 3-grams 3/3, 4-grams 2/2, brevity penalty exp(1 - 6/5)
    score = bleu(["a b c d e"], ["a b c d e f"], tokenized=True, resamples=0)
    assert score.value == pytest.approx(100 * math.exp(-0.2))
    assert (score.low, score.high) == (None, None)
    assert "tok:none" in score.signature
    assert "bs:" not in score.signature


def test_ter_by_hand():
    assert ter(["a b x d"], ["a b c d"], resamples=0).value == pytest.approx(25)
    assert ter(["b c d e a"], ["a b c d e"], resamples=0).value == pytest.approx(20)  # one shift


def test_chrf_extremes():
    assert chrf(["abc def"], ["abc def"], resamples=0).value == pytest.approx(100)
    assert chrf(["xyz"], ["abc"], resamples=0).value == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("ours", "theirs"), [(bleu, BLEU()), (chrf, CHRF()), (ter, TER())], ids=["bleu", "chrf", "ter"]
)
def test_value_interval_and_signature_are_sacrebleus(corpus, ours, theirs, monkeypatch):
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    hypotheses, references = corpus
    score = ours(hypotheses, references, resamples=200)
    expected = theirs.corpus_score(hypotheses, [references], n_bootstrap=200)
    assert score.value == pytest.approx(expected.score)
    assert (score.high - score.low) / 2 == pytest.approx(expected._ci, rel=1e-4)
    assert score.low < score.value < score.high
    assert score.signature == str(theirs.get_signature())
    assert "bs:200|seed:12345" in score.signature


def test_case():
    assert bleu(["A b c d"], ["a b c d"], resamples=0).value < 100
    lowered = bleu(["A b c d"], ["a b c d"], lowercase=True, resamples=0)
    assert lowered.value == pytest.approx(100)
    assert "case:lc" in lowered.signature
    assert ter(["A b"], ["a b"], resamples=0).value == 0
    assert ter(["A b"], ["a b"], lowercase=False, resamples=0).value == 50


def test_tokenized_takes_words_as_they_stand():
    raw, split = "Hello, world and all!", "Hello , world and all !"
    assert bleu([raw], [split], resamples=0).value == pytest.approx(100)
    assert bleu([raw], [split], tokenized=True, resamples=0).value < 50


def test_several_references_are_given_per_line():
    references = [["x x x x", "a b c d"], ["a b c d", "x x x x"]]
    score = bleu(["a b c d", "a b c d"], references, resamples=0)
    assert score.value == pytest.approx(100)
    assert "nrefs:2" in score.signature


def test_number_of_references_may_vary():
    score = ter(["a b", "c d"], [["x y", "a b"], ["c d"]], resamples=5)
    assert score.value == 0
    assert "nrefs:var" in score.signature


def test_empty_hypothesis_is_scored():
    assert bleu(["", "a b c d"], ["a b c d", "a b c d"], resamples=5).value < 100
    assert bleu([""], [""], resamples=0).value == 0


def test_tokenized_looking_lines_raise_no_warning(caplog):
    with caplog.at_level(logging.WARNING):
        bleu(["a b c ."] * 150, ["a b c ."] * 150, resamples=0)
    assert not caplog.records


def test_errors_in_words():
    with pytest.raises(DataError, match=r"^2 outputs but 1 references; expected one reference"):
        bleu(["a", "b"], ["a"])
    with pytest.raises(DataError, match=r"^no outputs to score: got 0 lines"):
        chrf([], [])
    with pytest.raises(DataError, match=r"^output 2 has no reference: got an empty list"):
        ter(["a", "b"], [["a"], []])

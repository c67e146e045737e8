"""Bag of words: n-grams and weights by hand, and as scikit-learn has them."""

import math
import sys

import numpy as np
import pytest
import torch

from headway.data.collate import source_batch
from headway.errors import MissingExtra
from headway.models import FAMILIES, VocabularySizes
from headway.models.counting.bag_of_words import Bag, BagConfig, count

EOS = 2
# Words a, b, c are 4, 5, 6.
TEXTS = [[4, 5], [4, 4, 6], [6], [5, 4, 5], [6, 6, 4], [5]]
LABELS = [0, 1, 1, 0, 1, 0]
SIZES = VocabularySizes(7, 2, shared=False)


def ended(texts):
    return [np.array([*text, EOS], np.uint16) for text in texts]


def fitted(texts=TEXTS, labels=LABELS, sizes=SIZES, **given):
    config = BagConfig(**given).resolve(len(texts), sizes)
    return count(config, sizes, list(zip(ended(texts), labels, strict=True)))


def weights(model, text):
    """What each n-gram of a text weighs, by its number."""
    batch = source_batch(ended([text]))
    _, feature, value = model.features(batch["src"], batch["src_valid"])
    return dict(zip(model.ngrams[feature].tolist(), value.tolist(), strict=True))


def test_ngrams_are_numbered_by_their_tokens_and_have_no_end_mark():
    model = fitted(ngrams=(1, 2), weighting="counts")
    pairs = [4 * 7 + 4, 4 * 7 + 5, 4 * 7 + 6, 5 * 7 + 4, 6 * 7 + 4, 6 * 7 + 6]
    assert model.ngrams.tolist() == [4, 5, 6, *pairs]
    assert weights(model, [4, 4, 6]) == {4: 2.0, 6: 1.0, 4 * 7 + 4: 1.0, 4 * 7 + 6: 1.0}


def test_a_range_that_begins_above_one_has_no_single_tokens():
    model = fitted(ngrams=(2, 3), weighting="counts")
    assert model.ngrams.min() >= 4 * 7
    assert weights(model, [4, 4, 6]) == {32: 1.0, 34: 1.0, (4 * 7 + 4) * 7 + 6: 1.0}
    assert weights(model, [4]) == {}


def test_presence_is_one_however_often():
    assert weights(fitted(ngrams=(1, 1), weighting="presence"), [4, 4, 6]) == {4: 1.0, 6: 1.0}


def test_tfidf_by_hand():
    found = weights(fitted(ngrams=(1, 1), weighting="tfidf"), [4, 4, 6])
    a, c = 2 * (math.log(7 / 5) + 1), math.log(7 / 4) + 1  # in 4 and in 3 of 6 texts
    norm = math.hypot(a, c)
    assert found == pytest.approx({4: a / norm, 6: c / norm})


def test_what_is_not_known_weighs_nothing():
    model = fitted(ngrams=(1, 2))
    batch = source_batch(ended([[3, 3], []]))
    assert torch.equal(model.logits(batch), model.bias.expand(2, -1))


def test_rare_ngrams_are_left_out():
    assert fitted(ngrams=(1, 1), min_count=4).ngrams.tolist() == [4]
    with pytest.raises(ValueError, match="min_count=9 training texts; lower one of them"):
        fitted(ngrams=(1, 1), min_count=9)


def test_it_tells_apart_what_it_was_shown():
    for weighting in ("counts", "presence", "tfidf"):
        model = fitted(ngrams=(1, 2), weighting=weighting, c=100.0)
        assert model.logits(source_batch(ended(TEXTS))).argmax(1).tolist() == LABELS


def test_less_c_is_smaller_weights():
    sizes = [fitted(c=c).weight.norm().item() for c in (0.01, 1.0, 100.0)]
    assert sizes == sorted(sizes)


@pytest.mark.parametrize("labels", [LABELS, [0, 1, 2, 0, 1, 2]], ids=["two", "three"])
@pytest.mark.parametrize("weighting", ["counts", "presence", "tfidf"])
def test_it_is_the_pipeline_of_scikit_learn(weighting, labels):
    from sklearn.feature_extraction import text
    from sklearn.linear_model import LogisticRegression

    sizes = VocabularySizes(7, max(labels) + 1, shared=False)
    model = fitted(labels=labels, sizes=sizes, weighting=weighting, c=3.0)
    kind = text.TfidfVectorizer if weighting == "tfidf" else text.CountVectorizer
    vectors = kind(ngram_range=(1, 2), token_pattern=r"\S+", binary=weighting == "presence")
    lines = [" ".join(map(str, tokens)) for tokens in TEXTS]
    theirs = LogisticRegression(C=3.0, max_iter=1000).fit(vectors.fit_transform(lines), labels)
    unseen = [[5, 6, 4, 5], [4], [5, 5, 3]]
    expected = theirs.predict_proba(
        vectors.transform([" ".join(map(str, tokens)) for tokens in unseen])
    )
    found = model.logits(source_batch(ended(unseen))).softmax(1).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_what_is_saved_is_loaded():
    model = fitted()
    other = Bag(model.config, SIZES)
    other.load_state_dict(model.state_dict())
    batch = source_batch(ended(TEXTS))
    assert torch.equal(other.logits(batch), model.logits(batch))


def test_many_texts_are_counted_in_parts(monkeypatch):
    whole = fitted()
    monkeypatch.setattr("headway.models.counting.bag_of_words._CHUNK", 2)
    parts = fitted()
    assert torch.equal(parts.ngrams, whole.ngrams)
    torch.testing.assert_close(parts.weight, whole.weight)
    torch.testing.assert_close(parts.idf, whole.idf)


def test_without_scikit_learn_there_is_a_hint(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(MissingExtra) as error:
        FAMILIES["bag"].require()
    assert str(error.value) == (
        "training with model.family = \"bag\" needs the package 'scikit-learn', which is not "
        "installed; pip install 'headway-attention[sklearn]'"
    )


def test_settings_that_do_not_fit():
    with pytest.raises(ValueError, match=r"ngrams=\[3, 1\] starts above its end; try .*\[1, 3\]"):
        BagConfig(ngrams=(3, 1))
    with pytest.raises(ValueError, match=r"too many to be numbered; try ngrams=\[2, 4\]"):
        BagConfig(ngrams=(2, 5)).resolve(1, VocabularySizes(30_000, 2, shared=False))

"""The task `classify`: batches, loss, validation, what families fit it."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from headway.data.codecs.labels import LabelCodec
from headway.data.codecs.text import TextConfig
from headway.data.config import Corpus, DataConfig
from headway.data.prepare import prepare
from headway.errors import ConfigError, DataError
from headway.models import FAMILIES
from headway.models.ensemble import Ensemble
from headway.run_config import RunConfig
from headway.search import SearchConfig
from headway.tasks import TASKS
from headway.tasks.classify import Classify

ROWS = [("a b", "yes"), ("b b a", "no"), ("a", "yes"), ("b", "no"), ("a a a a", "yes")]
DATA = DataConfig(train="a.tsv")


class ByFirst(torch.nn.Module):
    """Counted, so to speak: the label of the first word, with logit 2."""

    def __init__(self, words):
        super().__init__()
        self.register_buffer("rows", torch.zeros(8, 2))
        for word, label in words.items():
            self.rows[word, label] = 2.0

    def logits(self, batch):
        return self.rows[batch["src"][:, 0]]


@pytest.fixture
def task():
    return Classify().fit_codecs(lambda: iter(ROWS), TextConfig(kind="words"))


@pytest.fixture
def store(task, tmp_path):
    text = "".join(f"{text}\t{label}\n" for text, label in ROWS)
    (tmp_path / "a.tsv").write_text(text, "utf-8")
    corpus = Corpus(file="a.tsv")
    return prepare([corpus], task.codecs, tmp_path / "stores", root=tmp_path).store


@pytest.fixture
def model(task):
    a, b = (task.codec.encode_batch([word])[0][0] for word in "ab")
    return ByFirst({a: 1, b: 0})


def test_codecs_are_saved_and_loaded(task, tmp_path):
    task.save_codecs(tmp_path)
    loaded = Classify().load_codecs(tmp_path)
    assert loaded.labels.labels == ("no", "yes")
    for column, codec in task.codecs.items():
        assert loaded.codecs[column].fingerprint() == codec.fingerprint()
    assert task.describe()["labels"] == ["no", "yes"]
    assert (task.vocabularies.target, task.vocabularies.shared) == (2, False)


def test_texts_may_begin_with_a_mark(tmp_path):
    task = Classify().fit_codecs(lambda: iter(ROWS), TextConfig(kind="words", begin=True))
    task.save_codecs(tmp_path)
    for loaded in (task, Classify().load_codecs(tmp_path)):
        assert loaded.codec.encode_batch(["a"])[0][0] == loaded.codec.bos


def test_a_batch_is_texts_and_labels(task, store):
    batch = task.batch(store, np.array([1, 3]))
    assert batch["label"].tolist() == [0, 0]
    assert batch["label"].dtype == torch.int64
    assert batch["src"].shape == (2, 4)
    assert batch["src_valid"].tolist() == [[True] * 4, [True, True, False, False]]


def test_segmentations_are_drawn_anew(tmp_path):
    rows = [("abab abba", "x"), ("baba", "y")]
    task = Classify().fit_codecs(lambda: iter(rows), TextConfig(dropout=0.5))
    (tmp_path / "a.tsv").write_text("abab abba\tx\nbaba\ty\n", "utf-8")
    made = prepare([Corpus(file="a.tsv")], task.codecs, tmp_path / "s", root=tmp_path).store
    drawn = [task.batch(made, np.array([0]), (1, epoch))["src"] for epoch in (1, 1, 2, 3, 4)]
    assert torch.equal(drawn[0], drawn[1])
    assert len({tuple(batch[0].tolist()) for batch in drawn}) > 1


def test_the_loss_is_a_sum_over_texts(task, store, model):
    batch = task.batch(store, np.arange(5))
    objective = task.objective(model, 0.1).eval()
    assert objective.counts(batch) == {"loss": 5}
    expected = 5 * math.log(1 + math.exp(-2))  # all right, and not smoothed
    assert objective(batch)["loss"].item() == pytest.approx(expected)
    smoothed = objective.train()(batch)["loss"].item()
    assert smoothed == pytest.approx(expected + 5 * 0.05 * 2)


def test_probabilities_keep_the_order(task, model):
    texts = task.codec.encode_batch(["b", "a b a b", "a"])
    p = math.exp(2) / (1 + math.exp(2))
    np.testing.assert_allclose(task.predict(model, texts), [[p, 1 - p], [1 - p, p], [1 - p, p]])
    assert task.predict(model, []).shape == (0, 2)


def test_an_ensemble_has_the_mean_of_the_probabilities(task, model):
    other = ByFirst(dict.fromkeys(range(8), 0))
    texts = task.codec.encode_batch(["b", "a b"])
    expected = (task.predict(model, texts) + task.predict(other, texts)) / 2
    np.testing.assert_allclose(task.predict(Ensemble([model, other]), texts), expected, rtol=1e-6)


def test_a_validation_counts_what_is_right(task, store, model):
    wrong = ByFirst(dict.fromkeys(range(8), 1))
    validator = task.validator(store, DATA, "accuracy", 500, SearchConfig())
    validation = validator(task.objective(model, 0.0))
    assert validation.figures["accuracy"] == validation.figures["macro_f1"] == 100.0
    assert validation.figures["valid_loss"] == pytest.approx(math.log(1 + math.exp(-2)))
    assert validation.samples == [("a b", "yes", "yes"), ("b b a", "no", "no"), ("a", "yes", "yes")]
    worse = validator(task.objective(wrong, 0.0))
    assert worse.figures["accuracy"] == pytest.approx(60.0)
    assert worse.figures["macro_f1"] == pytest.approx(37.5)
    assert validator.goodness(validation) > validator.goodness(worse)
    by_loss = task.validator(store, DATA, "loss", 500, SearchConfig())
    assert by_loss.goodness(validation) > by_loss.goodness(worse)


def test_what_is_counted_are_texts_with_labels(task, store):
    examples = task.sequences(store)
    for _ in range(2):  # it can be gone through again
        assert [label for _, label in examples] == [1, 0, 1, 0, 1]
    assert [len(tokens) for tokens, _ in examples] == [3, 4, 2, 2, 5]


def test_a_label_that_nothing_is_left_of_is_an_error(task, store):
    more = Classify().with_codecs(task.inputs, LabelCodec(["no", "yes", "zero"]))
    with pytest.raises(DataError, match="no training example of the label 'zero' can be used"):
        more.sequences(store)


def test_metrics_it_does_not_have(task):
    with pytest.raises(ConfigError, match="no metric 'bleu' for task 'classify'; expected one of"):
        task.judge("bleu", ["a"], ["a"])


def test_the_families_that_fit():
    able = {name for name, family in FAMILIES.items() if TASKS["classify"]().fits(family)}
    assert {"bag", "recurrent_encoder", "encoder", "unilm"} <= able
    assert not able & {"transformer", "recurrent", "convolutional", "decoder"}
    for task in ("translate", "language"):
        assert not TASKS[task]().fits(FAMILIES["encoder"])
    assert RunConfig(DATA, task="classify").model.family == "encoder"


def test_a_family_that_does_not_fit_is_an_error():
    config = RunConfig(DATA, task="classify")
    with pytest.raises(ValueError, match=r"needs a model .* can classify.*use one of bag, "):
        replace(config, model=FAMILIES["transformer"].config())

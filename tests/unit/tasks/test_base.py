"""Validation: the loss on all, a metric on some, which way is better, and no trace left."""

import numpy as np
import pytest
import torch

from headway.data.codecs.text import TextConfig
from headway.data.config import Corpus
from headway.data.prepare import prepare
from headway.errors import RunError
from headway.models import FAMILIES
from headway.models.recurrent import RecurrentConfig
from headway.search import SearchConfig
from headway.tasks.base import Objective, Validation, Validator
from headway.tasks.losses import SequenceLoss
from headway.tasks.translate import Translate, TranslationValidator

GREEDY = SearchConfig(beam=1, max_length=8)


@pytest.fixture
def objective(task):
    config = RecurrentConfig(d_model=8, dropout=0.5).resolve(4, task.vocabularies)
    torch.manual_seed(0)
    return SequenceLoss(FAMILIES["recurrent"].build(config, task.vocabularies), 0.3)


def validator(task, store, metric="loss", sample=500):
    return TranslationValidator(task, store, metric, sample, GREEDY)


def test_the_loss_is_the_mean_over_all_words_without_smoothing_or_dropout(task, store, objective):
    loss = validator(task, store)(objective.train()).figures["valid_loss"]
    objective.eval()
    batch = task.batch(store, np.arange(len(store)))
    expected = objective(batch)["loss"].item() / objective.counts(batch)["loss"]
    assert loss == pytest.approx(expected, rel=1e-5)


def test_it_is_the_same_each_time_and_draws_nothing(task, store, objective):
    judge = validator(task, store)
    before = torch.get_rng_state()
    first, second = judge(objective.train()), judge(objective)
    assert first == second
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("training", [True, False])
def test_the_mode_is_put_back_even_after_an_error(task, store, objective, training, monkeypatch):
    objective.train(training)
    judge = validator(task, store)
    judge(objective)
    assert objective.training is training
    monkeypatch.setattr(judge, "_outputs", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        judge(objective)
    assert objective.training is training


def test_the_sample_is_spread_over_the_set(task, store):
    assert validator(task, store, sample=2).chosen == [0, 2]
    assert validator(task, store, sample=1).chosen == [0]
    assert validator(task, store, sample=3).chosen == [0, 1, 2]
    assert validator(task, store, sample=99).chosen == [0, 1, 2, 3]
    assert validator(task, store, sample=2).references == ["b a", "a b b"]


def test_figures_and_samples(task, store, copier, objective, monkeypatch):
    judge = validator(task, store, "chrf")
    monkeypatch.setattr(objective, "sums", lambda batch: {"loss": torch.tensor(0.0)})
    objective.model = copier
    result = judge(objective)
    assert set(result.figures) == {"valid_loss", "bleu", "exact", "chrf"}
    assert result.figures["exact"] == 25.0  # "a" is "a" backwards
    assert result.samples == [("a b", "a b", "b a"), ("a", "a", "a"), ("b b a", "b b a", "a b b")]


def test_limited_outputs_end_with_their_references(task, store, copier, objective, monkeypatch):
    class Endless(type(copier)):
        def step(self, tokens, state):
            logits, state = super().step(tokens, state)
            return torch.nn.functional.one_hot(
                torch.full(logits.shape[:2], 5), self.size
            ) + 0.0, state

    monkeypatch.setattr(objective, "sums", lambda batch: {"loss": torch.tensor(0.0)})
    objective.model = Endless(copier.size)
    free, limited = (
        validator(task, store)(objective, limited=limited) for limited in (False, True)
    )
    assert [len(output.split()) for _, output, _ in limited.samples] == [3, 2, 4]
    assert [len(output.split()) for _, output, _ in free.samples] == [8, 8, 8]


@pytest.mark.parametrize(
    ("metric", "goodness"), [("loss", -2.5), ("bleu", 30.0), ("ter", -70.0), ("ser", -40.0)]
)
def test_more_goodness_is_better_whatever_the_metric(task, store, metric, goodness):
    figures = {"valid_loss": 2.5, "bleu": 30.0, "ter": 70.0, "ser": 40.0}
    assert validator(task, store, metric).goodness(Validation(figures, [])) == goodness


@pytest.mark.parametrize("kind", ["words", "characters", "wordpiece"])
@pytest.mark.parametrize("metric", ["bleu", "exact", "chrf", "wer", "ser"])
def test_an_unknown_is_never_right(tmp_path, kind, metric, objective, monkeypatch):
    """Even if the output has an unknown token at the same position."""
    known = [("a b a b a b", "a b a b a b")] * 2
    task = Translate().fit_codecs(lambda: iter(known), TextConfig(kind=kind))
    (tmp_path / "pairs.tsv").write_text("?\t?\n", "utf-8")
    corpora = (Corpus(file="pairs.tsv"),)
    store = prepare(corpora, task.codecs, tmp_path / "stores", root=tmp_path).store
    judge = validator(task, store, metric)
    monkeypatch.setattr(judge, "_loss", lambda objective: 0.0)
    monkeypatch.setattr(judge, "_outputs", lambda objective, limited: ["⟨unk⟩"])
    validation = judge(objective)
    assert validation.figures[metric] == (0.0 if metric in ("bleu", "exact", "chrf") else 100.0)
    assert validation.samples == [("⟨unk⟩", "⟨unk⟩", "⟨unk⟩")]  # as reports show it


def test_a_validation_that_needs_too_much_memory(task, store, objective, monkeypatch):
    monkeypatch.setattr(objective, "sums", lambda batch: torch.empty(1 << 50, dtype=torch.uint8))
    with pytest.raises(RunError) as caught:
        validator(task, store)(objective)
    n, longest = len(store), max(store.lengths("source").max(), store.lengths("target").max())
    assert str(caught.value) == (
        f"out of memory in a validation with {n} examples of up to {longest} tokens; shorten the "
        "longest examples of data.valid, or train a smaller model"
    )


class TwoParts(Objective):
    """Fixed sums and counts of two parts."""

    def __init__(self):
        super().__init__(torch.nn.Linear(1, 1), weights={"main": 1.0, "side": 0.5})

    def counts(self, batch):
        return {"main": batch["main"].numel(), "side": batch["side"].numel()}

    def sums(self, batch):
        return {name: batch[name].sum() for name in self.weights}


class OfTwoParts(Validator):
    def batches(self):
        yield {"main": torch.tensor([1.0, 2.0]), "side": torch.tensor([])}
        yield {"main": torch.tensor([6.0]), "side": torch.tensor([8.0])}


def test_parts_of_a_loss_are_divided_by_their_own_counts():
    validation = OfTwoParts("loss", lower_is_better=True)(TwoParts())
    assert validation == Validation({"valid_loss": 3.0 + 0.5 * 8.0}, [])

"""Forced scores: by hand, of nothing, and those that a search reports."""

import math

import pytest
import torch
from worked_table import PIE

from headway.search import score_targets
from headway.teaching.table_model import TableModel


def test_forced_scores_of_the_pruned_sentence():
    model = TableModel(PIE)
    targets = torch.tensor([model.encode("i was hit END"), model.encode("he struck he END")])
    scores = score_targets(
        model, {"rows": torch.zeros(2)}, targets, targets >= 0, bos=0, normalise=False
    )
    assert scores[0].tolist() == pytest.approx([-0.9, -0.7, -1.3, -0.1])
    assert scores[1, :2].tolist() == pytest.approx([-0.7, -2.2])
    assert (scores[1, 2:] == -torch.inf).all()


BOS, EOS = 0, 1


def test_forced_of_nothing(recurrent, make_batch):
    nothing = torch.zeros(2, 0, dtype=torch.long)
    scores = score_targets(recurrent(0), make_batch([[1], [2]]), nothing, nothing > 0, bos=BOS)
    assert scores.shape == (2, 0)


def test_padding_scores_zero_whatever_its_number():
    model = TableModel({"": {"a": -0.5}, "a": {"END": -1.0}})
    targets = torch.tensor([[*model.encode("a END"), 10**6]])
    valid = torch.tensor([[True, True, False]])
    scores = score_targets(model, {"rows": torch.zeros(1)}, targets, valid, bos=0, normalise=False)
    assert scores.tolist() == [[-0.5, -1.0, 0.0]]


def test_logits_are_normalised_unless_they_are_log_probabilities():
    model = TableModel({"": {"a": -2.0, "b": -2.0}})
    targets = torch.tensor([model.encode("a")])
    scores = score_targets(model, {"rows": torch.zeros(1)}, targets, targets >= 0, bos=0)
    assert scores.item() == pytest.approx(math.log(0.5))

"""The loss: sums and counts of valid positions, smoothing in training alone."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from headway.models import FAMILIES, VocabularySizes
from headway.models.recurrent import RecurrentConfig
from headway.tasks.losses import SequenceLoss


@pytest.fixture
def objective(task):
    sizes = VocabularySizes(task.vocabularies.source, task.vocabularies.target, True)
    config = RecurrentConfig(d_model=8, dropout=0.0).resolve(4, sizes)
    torch.manual_seed(0)
    return SequenceLoss(FAMILIES["recurrent"].build(config, sizes), 0.2)


def test_counts_are_the_target_words_and_their_ends(objective, task):
    batch = task.pairs(["a b", "c"], ["b a c", "c"])
    assert objective.counts(batch) == {"loss": 6}
    assert objective.weights == {"loss": 1.0}


@pytest.mark.parametrize("training", [True, False])
def test_the_sum_is_cross_entropy_over_valid_positions(objective, task, training):
    batch = task.pairs(["a b", "c"], ["b a c", "c"])
    objective.train(training)
    logits = objective.model.output(objective.model(batch))
    expected = cross_entropy(
        logits[batch["tgt_valid"]],
        batch["tgt_out"][batch["tgt_valid"]],
        reduction="sum",
        label_smoothing=0.2 if training else 0.0,
    )
    torch.testing.assert_close(objective(batch)["loss"], expected)


def test_the_parts_of_a_batch_add_up(objective, task):
    objective.eval()
    pairs = [("a b", "b a"), ("c a b", "b"), ("a", "a b c c")]
    whole = objective(task.pairs(*map(list, zip(*pairs, strict=True))))["loss"]
    single = sum(objective(task.pairs([s], [t]))["loss"] for s, t in pairs)
    torch.testing.assert_close(whole, single)

"""One update: micro-batches that are accumulated do what one big batch does."""

import torch
from equivalence_cases import equivalence, has_gradients, some_batch

from headway.tasks.losses import SequenceLoss
from headway.training.distributed import Processes
from headway.training.update import Updater

LR, CLIP, SMOOTHING = 0.1, 1.0, 0.1


def updater_of(case, dropout=0.0, seed=5, workers=1):
    model = case.build(dropout=dropout)
    objective = SequenceLoss(model, SMOOTHING).train()
    # Plain gradient descent: Adam would blow up rounding where a gradient is almost zero.
    optimizer = torch.optim.SGD(model.parameters(), lr=LR)
    return Updater(objective, optimizer, seed, CLIP, Processes(), workers=workers)


def rows(batch, start, stop):
    return {name: value[start:stop] for name, value in batch.items()}


def weights(updater):
    return {n: p.detach().clone() for n, p in updater.objective.model.named_parameters()}


def check_same(one, other, close=1e-5):
    for name, value in weights(one).items():
        torch.testing.assert_close(value, weights(other)[name], rtol=close, atol=close)


@equivalence("accum", "score", only=has_gradients)
def test_accumulated_is_the_big_batch(case):
    """Micro-batches of unequal size and length: each word counts once, whatever it came with."""
    big, small = updater_of(case), updater_of(case)
    for update in (1, 2):
        batch = some_batch(update)
        together = big([(0, batch)], update, LR)
        apart = small([(0, rows(batch, 0, 2)), (1, rows(batch, 2, 6))], update, LR)
        assert abs(together.losses["loss"] - apart.losses["loss"]) < 1e-5
        assert abs(together.norm - apart.norm) < 1e-4 * together.norm
        assert together.tokens == apart.tokens == int(batch["tgt_valid"].sum())
    check_same(big, small)


@equivalence("accum", "score", only=has_gradients)
def test_with_dropout_a_micro_batch_draws_by_its_index_not_by_its_place(case):
    """What two processes rely on: whoever takes micro-batch 1 draws the masks of micro-batch 1."""
    first, second = rows(some_batch(1), 0, 3), rows(some_batch(1), 3, 6)
    straight, again, turned, other = (updater_of(case, dropout=0.3) for _ in range(4))
    result = straight([(0, first), (1, second)], 1, LR)
    torch.rand(17)  # whatever was drawn in between
    assert again([(0, first), (1, second)], 1, LR) == result
    for name, value in weights(straight).items():
        assert torch.equal(value, weights(again)[name])
    assert (
        abs(turned([(1, second), (0, first)], 1, LR).losses["loss"] - result.losses["loss"]) < 1e-5
    )
    check_same(straight, turned)
    swapped = other([(1, first), (0, second)], 1, LR)
    assert abs(swapped.losses["loss"] - result.losses["loss"]) > 1e-4


@equivalence("accum", "score", only=has_gradients)
def test_micro_batches_side_by_side_are_those_in_turn(case):
    """Threads draw what one thread draws, and gradients are added in the same order."""
    in_turn, side_by_side = updater_of(case, dropout=0.3), updater_of(case, dropout=0.3, workers=2)
    for update in (1, 2, 3):
        parts = list(enumerate(rows(some_batch(update), i, i + 2) for i in (0, 2, 4)))
        one, other = in_turn(parts, update, LR), side_by_side(parts, update, LR)
        assert abs(one.losses["loss"] - other.losses["loss"]) < 1e-6
    check_same(in_turn, side_by_side, 1e-6)


@equivalence("accum", "score", only=has_gradients)
def test_with_dropout_every_update_and_every_seed_draws_anew(case):
    batch = some_batch(1)
    losses = [
        updater_of(case, dropout=0.3, seed=seed)([(0, batch)], update, LR).losses["loss"]
        for seed, update in ((5, 1), (5, 2), (6, 1))
    ]
    assert len(set(losses)) == 3

"""The state of a checkpoint comes back exactly; the moving average by hand."""

import pytest
import torch
from torch import nn

from headway.errors import RunError
from headway.training.config import TrainConfig
from headway.training.optimizer import make_optimizer
from headway.training.state import MovingAverage, Progress, group, pack, unpack


class Tied(nn.Module):
    """Two names for one matrix, as with shared embeddings."""

    def __init__(self, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(self.first(x))


def trained(name, seed=0, steps=3):
    model = Tied(seed)
    optimizer = make_optimizer(model, TrainConfig(optimizer=name), 0.01)
    average = MovingAverage(model, 0.9)
    for step in range(1, steps + 1):
        advance(model, optimizer, average, step)
    return model, optimizer, average


def advance(model, optimizer, average, step):
    optimizer.zero_grad()
    model(torch.full((2, 3), float(step))).square().sum().backward()
    optimizer.step()
    average.update(model, step)


@pytest.mark.parametrize("name", ["adamw", "adam", "adam_l2", "sgd"])
def test_training_continues_exactly_after_pack_and_unpack(name):
    model, optimizer, average = trained(name)
    tensors = {name: value.clone() for name, value in pack(model, optimizer, average).items()}
    other = trained(name, seed=1, steps=0)
    unpack(tensors, *other)
    advance(model, optimizer, average, 4)
    advance(*other, 4)
    ours, theirs = pack(model, optimizer, average), pack(*other)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_shared_matrix_is_packed_once():
    names = set(group(pack(*trained("adamw")), "model"))
    assert names == {"first.weight", "first.bias", "second.bias"}


def test_unpacked_tensors_are_copies():
    model, optimizer, average = trained("adamw")
    tensors = pack(model, optimizer, average)
    other = trained("adamw", seed=1, steps=0)
    unpack(tensors, *other)
    before = other[0].first.weight.detach().clone()
    advance(model, optimizer, average, 4)
    assert torch.equal(other[0].first.weight, before)
    assert not torch.equal(model.first.weight, before)


def test_a_checkpoint_of_another_model_is_refused():
    tensors = pack(*trained("adamw"))
    del tensors["model.second.bias"]
    with pytest.raises(RunError, match=r"the checkpoint does not fit the model: second\.bias is m"):
        unpack(tensors, *trained("adamw", steps=0))


def test_the_moving_average_by_hand():
    model = nn.Linear(1, 1, bias=False)
    nn.init.constant_(model.weight, 0.0)
    average = MovingAverage(model, 0.5)
    nn.init.constant_(model.weight, 10.0)
    average.update(model, 1)  # decay (1 + 1) / (10 + 1) = 2/11, below 0.5
    assert average.tensors["weight"].item() == pytest.approx(10 * 9 / 11)
    average.update(model, 100)  # decay 0.5
    assert average.tensors["weight"].item() == pytest.approx(10 - 10 * (2 / 11) * 0.5)
    assert model.weight.item() == 10.0


def test_group_takes_the_prefix_away():
    tensors = {"model.a.b": torch.zeros(1), "models.c": torch.ones(1), "average.a": torch.ones(2)}
    assert set(group(tensors, "model")) == {"a.b"}


def test_progress_round_trip_and_refusal():
    progress = Progress(step=3, epoch=1, batch=7, best=0.1, seconds=1.5)
    assert Progress.from_json(progress.to_json()) == progress
    data = {**progress.to_json(), "novelty": 1}
    with pytest.raises(RunError) as caught:
        Progress.from_json(data)
    assert str(caught.value) == (
        "the checkpoint's state does not fit this headway: novelty; resume with the headway that "
        "wrote it, or train again with another `out`"
    )


def test_runs_of_format_1_keep_the_earliest_of_equal_validations():
    old = {"step": 4, "epoch": 0, "batch": 0, "tokens": 9, "seconds": 1.0}
    progress = Progress.from_json({**old, "best": 0.0, "best_step": 2, "worse": 1})
    progress.record_validation(0.0, 0.5)
    assert (progress.best_step, progress.worse) == (2, 2)
    progress.record_validation(1.0, 0.5)
    assert (progress.best, progress.best_step, progress.worse) == (1.0, 4, 0)
    again = Progress.from_json(progress.to_json())
    again.record_validation(1.0, 0.1)
    assert again.worse == 1


def test_the_loss_decides_between_equal_validations():
    progress = Progress(step=1)
    for goodness, loss, best in ((0.0, 3.0, 1), (0.0, 2.0, 2), (0.0, 2.5, 2), (1.0, 9.0, 4)):
        progress.record_validation(goodness, loss)
        assert progress.best_step == best
        progress.step += 1
    assert Progress.from_json(progress.to_json()) == progress

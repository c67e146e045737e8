"""One update: means over its own counts, clipping, its learning rate, and two loss parts."""

import pytest
import torch
from torch import nn

from headway.errors import RunError
from headway.tasks.base import Objective
from headway.training.distributed import Processes
from headway.training.update import Updater


class Toy(Objective):
    """Parts `main` (sum of weight * x over all x) and `side` (sum of 2 * weight over rows)."""

    def __init__(self):
        super().__init__(nn.Linear(1, 1, bias=False), weights={"main": 1.0, "side": 0.5})
        nn.init.constant_(self.model.weight, 1.0)

    def counts(self, batch):
        return {"main": batch["x"].numel(), "side": len(batch["x"])}

    def sums(self, batch):
        weight = self.model.weight
        return {"main": (weight * batch["x"]).sum(), "side": (2 * weight).sum() * len(batch["x"])}


def updater(clip=0.0, workers=1):
    toy = Toy()
    optimizer = torch.optim.SGD(toy.parameters(), lr=123.0)  # the updater sets the rate
    return toy, Updater(toy, optimizer, seed=1, clip=clip, processes=Processes(), workers=workers)


def batch(*rows):
    return {"x": torch.tensor(rows, dtype=torch.float32)}


def test_each_part_is_divided_by_its_own_count():
    toy, update = updater()
    result = update([(0, batch([1.0, 2.0], [3.0, 6.0]))], 1, lr=0.1)
    assert result.losses == {"main": 3.0, "side": 2.0}
    assert result.loss == 3.0 + 0.5 * 2.0
    assert result.tokens == 4
    # Gradient: mean of x is 3, plus half of 2.
    assert result.norm == pytest.approx(4.0)
    assert toy.model.weight.item() == pytest.approx(1.0 - 0.1 * 4.0)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_counts_are_of_the_whole_update(workers):
    """Micro-batches of 1 and 3 numbers: the mean is over four numbers, not over two means."""
    toy, update = updater(workers=workers)
    result = update([(0, batch([8.0])), (1, batch([1.0, 2.0, 1.0]))], 1, lr=0.1)
    assert result.losses == {"main": 3.0, "side": 2.0}
    assert toy.model.weight.item() == pytest.approx(0.6)


def test_clipping_bounds_the_step_and_tells_the_norm_before():
    toy, update = updater(clip=1.0)
    result = update([(0, batch([3.0]))], 1, lr=0.1)
    assert result.norm == pytest.approx(4.0)
    assert toy.model.weight.item() == pytest.approx(0.9, abs=1e-5)


def test_clip_zero_is_off_and_small_gradients_are_left_alone():
    toy, update = updater(clip=100.0)
    update([(0, batch([3.0]))], 1, lr=0.1)
    assert toy.model.weight.item() == pytest.approx(0.6)


def test_old_gradients_do_not_linger():
    toy, update = updater()
    for number in (1, 2):
        update([(0, batch([3.0]))], number, lr=0.1)
    assert toy.model.weight.item() == pytest.approx(1.0 - 0.4 - 0.4)


def test_a_micro_batch_without_words_is_no_division_by_zero():
    toy, update = updater()
    result = update([(0, {"x": torch.zeros(0, 1)})], 1, lr=0.1)
    assert result.losses == {"main": 0.0, "side": 0.0}
    assert toy.model.weight.item() == 1.0


def test_an_error_in_a_worker_comes_out_and_threads_are_put_back():
    _, update = updater(workers=2)
    threads = torch.get_num_threads()
    with pytest.raises(KeyError):
        update([(0, batch([1.0])), (1, {})], 1, lr=0.1)
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize("workers", [1, 2])
def test_a_lack_of_memory_names_the_batch_and_the_settings(workers):
    class Large(Toy):
        def sums(self, batch):
            torch.empty(1 << 50, dtype=torch.uint8)  # no machine has a petabyte

    _, update = updater(workers=workers)
    update.objective = Large()
    with pytest.raises(RunError) as caught:
        update([(0, batch([1.0, 2.0, 3.0])), (1, batch([1.0], [2.0]))], 7, lr=0.1)
    assert str(caught.value) == (
        "out of memory in update 7 with 3 examples of up to 3 tokens; train again with a lower "
        "train.batch_tokens or data.max_length, a higher train.accumulate, or a smaller model"
    )


class Drawing(Toy):
    """Dropout from torch's default generator, as foreign modules may use it."""

    def sums(self, batch):
        dropped = nn.functional.dropout(batch["x"], 0.5)
        return super().sums({"x": dropped})


def test_a_module_that_draws_from_the_default_generator_runs_in_sequence():
    """Threads would share that generator; the draws must not depend on their order."""
    batches = [(index, batch([float(n) for n in range(50)])) for index in range(4)]
    results = []
    for workers in (1, 4, 4):
        toy = Drawing()
        optimizer = torch.optim.SGD(toy.parameters(), lr=1.0)
        update = Updater(toy, optimizer, 1, 0.0, Processes(), workers=workers)
        losses = [update(batches, number, lr=0.01).losses for number in (1, 2, 3)]
        results.append((losses, toy.model.weight.item()))
    assert results[0] == results[1] == results[2]

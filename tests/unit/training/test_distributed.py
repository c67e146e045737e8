"""One process passes everything through; several communicate by PyTorch's process group."""

import pytest
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from headway.training.distributed import Processes, processes


@pytest.fixture
def group(tmp_path):
    """A process that is set up as the first of two, in a group of one."""
    method = f"file://{tmp_path / 'rendezvous'}"
    dist.init_process_group("gloo", init_method=method, rank=0, world_size=1)
    yield Processes(0, 2)
    dist.destroy_process_group()


def test_one_process_is_the_first_and_passes_everything_through(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    module = nn.Linear(1, 1)
    with processes() as alone:
        assert alone == Processes(0, 1)
        assert alone.is_first
        assert alone.sum([1.0, 2.0]) == [1.0, 2.0]
        assert alone.share("x") == "x"
        assert alone.wrap(module) is module
        alone.wait()


def test_only_rank_zero_is_first():
    assert [Processes(rank, 2).is_first for rank in (0, 1)] == [True, False]


def test_values_travel_in_double_precision(group):
    assert group.sum([1 / 3, 2.0**53]) == [1 / 3, 2.0**53]


def test_plain_data_are_shared(group):
    assert group.share({"step": 3, "note": None}) == {"step": 3, "note": None}
    group.wait()


def test_modules_that_may_rest_are_looked_for_in_every_update(group):
    """Unused parameters are searched for only if a module declares `may_rest`."""
    resting = nn.Linear(1, 1)
    resting.may_rest = True
    for part, expected in ((nn.Linear(1, 1), False), (resting, True)):
        wrapped = group.wrap(nn.Sequential(part))
        assert isinstance(wrapped, DistributedDataParallel)
        assert wrapped.find_unused_parameters is expected


def test_the_group_of_torchrun_is_joined_and_left(tmp_path, monkeypatch):
    calls = []

    def join(backend, timeout):
        calls.append((backend.split(",")[0], timeout.days))
        method = f"file://{tmp_path / 'rendezvous'}"
        connect("gloo", init_method=method, rank=0, world_size=1)

    connect = dist.init_process_group
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr(dist, "init_process_group", join)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with processes() as joined:
        assert joined == Processes(0, 1)  # as the group says, not the environment
        assert dist.is_initialized()
    assert calls == [("gloo", 2)]
    assert not dist.is_initialized()

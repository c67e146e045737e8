"""One process, or several under `torchrun` with PyTorch's distributed engine."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

T = TypeVar("T")
# The others wait while the first prepares data or validates, which may take hours.
PATIENCE = timedelta(days=2)


@dataclass(frozen=True)
class Processes:
    """Rank of this process and number of processes."""

    rank: int = 0
    world: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes, prints and decodes."""
        return self.rank == 0

    def sum(self, values: list[float]) -> list[float]:
        """The sum over processes of each value."""
        if self.world == 1:
            return values
        total = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(total)
        return total.tolist()

    def wrap(self, module: nn.Module) -> nn.Module:
        """The module whose backward pass averages gradients over processes."""
        if self.world == 1:
            return module
        may_rest = any(getattr(part, "may_rest", False) for part in module.modules())
        return DistributedDataParallel(module, find_unused_parameters=may_rest)

    def share(self, value: T) -> T:
        """The value of the first process (plain data), in all processes."""
        if self.world == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0)
        return box[0]

    def wait(self) -> None:
        """Waits until all processes have called it."""
        if self.world > 1:
            dist.barrier()


@contextmanager
def processes() -> Iterator[Processes]:
    """Joins the process group of `torchrun`, if there is one, and leaves it at the end."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        yield Processes()
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend, timeout=PATIENCE)
    try:
        yield Processes(dist.get_rank(), dist.get_world_size())
    finally:
        dist.destroy_process_group()

"""Training examples as an endless stream of micro-batches, from any place in it."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import torch

from ..data.batches import Batches
from ..data.store import Store
from .loss import Batch
from .task import Task


class BatchStream:
    """Micro-batches of a store, epoch after epoch.

    Args:
        seed: with the epoch, what random segmentations depend on.
    """

    def __init__(
        self, task: Task, store: Store, batches: Batches, seed: int, device: torch.device
    ) -> None:
        self.task, self.store, self.batches = task, store, batches
        self.seed, self.device = seed, device

    def after(self, epoch: int, batch: int) -> Iterator[tuple[int, int, Callable[[], Batch]]]:
        """For ever from the place after `batch` micro-batches of `epoch`: the place reached, and
        how to make the micro-batch."""
        while True:
            for indices in self.batches.from_cursor(epoch, batch):
                batch += 1
                yield epoch, batch, partial(self._make, epoch, indices)
            epoch, batch = epoch + 1, 0

    def n_batches(self) -> int:
        """Micro-batches of the first epoch."""
        return sum(1 for _ in self.batches.epoch(0))

    def _make(self, epoch: int, indices: np.ndarray) -> Batch:
        tensors = self.task.batch(self.store, indices, (self.seed, epoch))
        return {name: value.to(self.device) for name, value in tensors.items()}

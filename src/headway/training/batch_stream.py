"""Training examples as an endless stream of micro-batches, from any position."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import torch

from ..data.batching import Batches
from ..data.store import Store
from ..tasks.base import Batch, Task


class BatchStream:
    """Micro-batches of a store, epoch after epoch.

    Args:
        epoch: the store and the batches of an epoch; a pure function.
        seed: random segmentations depend on it and on the epoch.
    """

    def __init__(
        self,
        task: Task,
        epoch: Callable[[int], tuple[Store, Batches]],
        seed: int,
        device: torch.device,
    ) -> None:
        self.task, self.epoch = task, epoch
        self.seed, self.device = seed, device

    def after(self, epoch: int, batch: int) -> Iterator[tuple[int, int, Callable[[], Batch]]]:
        """Endless micro-batches after the first `batch` of `epoch`: the new position (epoch and
        batch), and a function that makes the micro-batch."""
        while True:
            store, batches = self.epoch(epoch)
            for indices in batches.from_cursor(epoch, batch):
                batch += 1
                yield epoch, batch, partial(self._make, store, epoch, indices)
            epoch, batch = epoch + 1, 0

    def n_batches(self) -> int:
        """Number of micro-batches in the first epoch."""
        return sum(1 for _ in self.epoch(0)[1].epoch(0))

    def _make(self, store: Store, epoch: int, indices: np.ndarray) -> Batch:
        tensors = self.task.batch(store, indices, (self.seed, epoch))
        return {name: value.to(self.device) for name, value in tensors.items()}

"""One update: forward and backward over its micro-batches, clipping, the optimiser's step."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from ..tasks.loss import Batch, Objective
from .processes import Processes
from .seeds import seed_microbatch


@dataclass(frozen=True)
class Update:
    """What one update did: mean of each loss part, tokens it saw, the gradient's norm."""

    losses: dict[str, float]
    tokens: int
    norm: float


class Updater:
    """Applies updates to an objective; holds no state but what it was given."""

    def __init__(
        self,
        objective: Objective,
        optimizer: torch.optim.Optimizer,
        seed: int,
        clip: float,
        processes: Processes,
        autocast: AbstractContextManager[object] | None = None,
    ) -> None:
        self.objective = objective
        self.optimizer = optimizer
        self.seed = seed
        self.clip = clip
        self.processes = processes
        self.autocast = autocast or nullcontext()
        self._module: nn.Module | None = None
        self.parameters = [p for g in optimizer.param_groups for p in g["params"]]

    @property
    def module(self) -> nn.Module:
        """The objective, wrapped at its first use: wrapping waits for the other processes."""
        if self._module is None:
            self._module = self.processes.wrap(self.objective)  # type: ignore[arg-type]
        return self._module

    def __call__(self, batches: Sequence[tuple[int, Batch]], update: int, lr: float) -> Update:
        """Runs update number `update`.

        Args:
            batches: this process's micro-batches with their index in the whole update.
        """
        counts = self._counts([batch for _, batch in batches])
        self.optimizer.zero_grad(set_to_none=True)
        sums = dict.fromkeys(counts, 0.0)
        for position, (index, batch) in enumerate(batches, start=1):
            seed_microbatch(self.seed, update, index)
            with self._sync(position == len(batches)):
                parts = self._backward(batch, counts)
            for name, value in parts.items():
                sums[name] += value
        norm = self._step(lr)
        totals = self.processes.sum([sums[name] for name in counts])
        losses = {
            name: total / max(counts[name], 1) for name, total in zip(counts, totals, strict=True)
        }
        return Update(losses, next(iter(counts.values())), norm)

    def _counts(self, batches: list[Batch]) -> dict[str, int]:
        """Of each part over the whole update, all processes."""
        each = [self.objective.counts(batch) for batch in batches]
        names = list(self.objective.weights)
        totals = self.processes.sum([float(sum(c[name] for c in each)) for name in names])
        return {name: int(total) for name, total in zip(names, totals, strict=True)}

    def _backward(self, batch: Batch, counts: dict[str, int]) -> dict[str, float]:
        with self.autocast:
            sums: dict[str, Tensor] = self.module(batch)
        # Processes average their gradients where the loss wants their sum.
        world = self.processes.world
        terms = [
            sums[name] * (world * self.objective.weights[name] / max(counts[name], 1))
            for name in sums
        ]
        torch.stack(terms).sum().backward()
        return {name: value.item() for name, value in sums.items()}

    def _sync(self, last: bool) -> AbstractContextManager[object]:
        """Processes talk once per update, in the backward pass of the last micro-batch."""
        if isinstance(self.module, DistributedDataParallel) and not last:
            return self.module.no_sync()
        return nullcontext()

    def _step(self, lr: float) -> float:
        gradients = [p.grad for p in self.parameters if p.grad is not None]
        norm = nn.utils.get_total_norm(gradients, foreach=True)
        if self.clip:
            nn.utils.clip_grads_with_norm_(self.parameters, self.clip, norm, foreach=True)
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        self.optimizer.step()
        return norm.item()

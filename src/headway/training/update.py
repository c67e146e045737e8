"""One update: forward and backward over its micro-batches, clipping, the optimiser's step.

On a CPU, one-thread workers process the micro-batches of an update in parallel. That is faster than
several threads per operation, which must wait for each other a thousand times an update.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from ..errors import batch_in_memory
from ..tasks.base import Batch, Objective, size_of
from .distributed import Processes
from .seeds import microbatch_seed


@dataclass(frozen=True)
class Update:
    """The result of one update: mean of each part of the loss, tokens, norm of the gradient.

    Attributes:
        loss: the weighted sum of the parts, which training minimises.
    """

    losses: dict[str, float]
    loss: float
    tokens: int
    norm: float


@dataclass(frozen=True)
class _Result:
    """The result of one micro-batch: sum of each part, and gradients that are not added up yet."""

    sums: dict[str, float]
    gradients: Sequence[Tensor | None] = ()


class Updater:
    """Applies updates to an objective.

    Args:
        autocast: makes the context of a forward pass, for lower precision.
        workers: threads that process micro-batches in parallel; with 1 they run in sequence.
    """

    def __init__(
        self,
        objective: Objective,
        optimizer: torch.optim.Optimizer,
        seed: int,
        clip: float,
        processes: Processes,
        autocast: Callable[[], AbstractContextManager[object]] = nullcontext,
        workers: int = 1,
    ) -> None:
        self.objective = objective
        self.optimizer = optimizer
        self.seed = seed
        self.clip = clip
        self.processes = processes
        self.autocast = autocast
        self.parameters: list[nn.Parameter] = [
            p for group in optimizer.param_groups for p in group["params"]
        ]
        self._module: nn.Module | None = None
        self._pool: ThreadPoolExecutor | None = None
        if workers > 1:
            self._threads = max(1, torch.get_num_threads() // workers)
            self._pool = ThreadPoolExecutor(
                workers, initializer=torch.set_num_threads, initargs=(self._threads,)
            )

    @property
    def module(self) -> nn.Module:
        """The objective, wrapped on first use, since wrapping waits for the other processes."""
        if self._module is None:
            self._module = self.processes.wrap(self.objective)
        return self._module

    def __call__(self, batches: Sequence[tuple[int, Batch]], update: int, lr: float) -> Update:
        """Runs update number `update`.

        Args:
            batches: this process's micro-batches, each with its index in the whole update.
        """
        sizes = [size_of(batch) for _, batch in batches]
        n, longest = sum(n for n, _ in sizes), max(length for _, length in sizes)
        remedy = (
            "train again with a lower train.batch_tokens or data.max_length, a higher "
            "train.accumulate, or a smaller model"
        )
        with batch_in_memory(f"update {update}", n, longest, remedy):
            return self._update(batches, update, lr)

    def _update(self, batches: Sequence[tuple[int, Batch]], update: int, lr: float) -> Update:
        counts, tokens = self._counts([batch for _, batch in batches])
        self.optimizer.zero_grad(set_to_none=True)
        if self._pool is not None and len(batches) > 1 and self.processes.world == 1:
            results = self._in_parallel(self._pool, batches, update, counts)
        else:
            results = self._in_sequence(batches, update, counts)
        norm = self._step(lr)
        totals = self.processes.sum([sum(r.sums[name] for r in results) for name in counts])
        losses = {
            name: total / max(counts[name], 1) for name, total in zip(counts, totals, strict=True)
        }
        loss = sum(self.objective.weights[name] * value for name, value in losses.items())
        return Update(losses, loss, tokens, norm)

    def _counts(self, batches: list[Batch]) -> tuple[dict[str, int], int]:
        """Counts of each part and number of tokens, over the whole update and all processes."""
        each = [self.objective.counts(batch) for batch in batches]
        names = list(self.objective.weights)
        mine = [sum(c[name] for c in each) for name in names]
        mine.append(sum(self.objective.tokens(batch) for batch in batches))
        *totals, tokens = (int(total) for total in self.processes.sum(list(map(float, mine))))
        return dict(zip(names, totals, strict=True)), tokens

    def _in_sequence(
        self, batches: Sequence[tuple[int, Batch]], update: int, counts: dict[str, int]
    ) -> list[_Result]:
        results = []
        for position, (index, batch) in enumerate(batches, start=1):
            with self._sync(position == len(batches)):
                loss, sums = self._forward(batch, microbatch_seed(self.seed, update, index), counts)
                loss.backward()
            results.append(_Result(sums))
        return results

    def _in_parallel(
        self,
        pool: ThreadPoolExecutor,
        batches: Sequence[tuple[int, Batch]],
        update: int,
        counts: dict[str, int],
    ) -> list[_Result]:
        """As `_in_sequence`, with equal sums: gradients are added in order of the micro-batches."""

        def work(item: tuple[int, Batch]) -> _Result:
            index, batch = item
            loss, sums = self._forward(batch, microbatch_seed(self.seed, update, index), counts)
            return _Result(sums, torch.autograd.grad(loss, self.parameters, allow_unused=True))

        threads, default = torch.get_num_threads(), torch.get_rng_state()
        torch.set_num_threads(self._threads)  # the matrix library has one setting for all
        results = []
        try:
            for result in pool.map(work, batches):
                self._add(result.gradients)
                results.append(_Result(result.sums))
        finally:
            torch.set_num_threads(threads)
        if not torch.equal(default, torch.get_rng_state()):
            # A module draws from torch's default generator, which threads would share in random
            # order: run in sequence from now on, this update included.
            self._pool = None
            self.optimizer.zero_grad(set_to_none=True)
            return self._in_sequence(batches, update, counts)
        return results

    def _add(self, gradients: Sequence[Tensor | None]) -> None:
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            if parameter.grad is None:
                parameter.grad = gradient
            elif gradient is not None:
                parameter.grad += gradient

    def _forward(
        self, batch: Batch, seed: int, counts: dict[str, int]
    ) -> tuple[Tensor, dict[str, float]]:
        """The micro-batch's part of the loss, and the unweighted sums for the log."""
        if self._pool is None:
            torch.manual_seed(seed)  # for modules that draw from the default generator
        with self.autocast():
            sums: dict[str, Tensor] = self.module(batch, seed)
        # Processes average their gradients, but the loss needs their sum.
        world = self.processes.world
        terms = [
            sums[name] * (world * self.objective.weights[name] / max(counts[name], 1))
            for name in sums
        ]
        return torch.stack(terms).sum(), {name: value.item() for name, value in sums.items()}

    def _sync(self, last: bool) -> AbstractContextManager[object]:
        """The context of a backward pass: processes synchronise only at the last micro-batch."""
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

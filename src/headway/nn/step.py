"""The seam between models and search: what a model must offer to be searched.

A model that can be stepped gives `start` and `step`; the `State` between them is a value that
search may reorder, thin out and fork. Modules hold weights only. Search imports this file and no
family; families import this file and no search.
"""

from collections.abc import Mapping
from typing import Protocol, Self

import torch
from torch import Tensor


class Cache(Protocol):
    """Something with one row per hypothesis. Methods return the new value and may reuse the old."""

    def reorder(self, parents: Tensor) -> Self:
        """Rows of the given parents, parents (B, N') -> N' hypotheses per sentence."""
        ...

    def keep(self, rows: Tensor) -> Self:
        """The given sentences only, rows (B',)."""
        ...

    def fork(self) -> Self:
        """An independent copy."""
        ...


class Fixed:
    """A cache whose size does not depend on the length: a recurrent state. Shape: (B, N, ...)."""

    def __init__(self, value: Tensor) -> None:
        self.value = value

    def reorder(self, parents: Tensor) -> "Fixed":
        return Fixed(select(self.value, parents))

    def keep(self, rows: Tensor) -> "Fixed":
        return Fixed(self.value[rows])

    def fork(self) -> "Fixed":
        return Fixed(self.value.clone())


class Growing:
    """A cache that gains entries each step: keys and values of the past. Shape: (B, N, H, K, E).

    The buffer doubles when it is full, so that a step does not copy the past.
    """

    def __init__(self, buffer: Tensor, length: int = 0) -> None:
        self.buffer = buffer
        self.length = length

    @classmethod
    def empty(cls, like: Tensor, rows: int, n_heads: int, d_head: int, capacity: int = 16) -> Self:
        return cls(like.new_empty(rows, 1, n_heads, capacity, d_head))

    def append(self, entries: Tensor) -> Tensor:
        """Adds entries (B, N, H, t, E) at the end and returns all of them (B, N, H, K, E)."""
        end = self.length + entries.size(3)
        if end > self.buffer.size(3):
            grown = list(self.buffer.shape)
            grown[3] = max(end, 2 * grown[3])
            buffer = self.buffer.new_empty(grown)
            buffer[:, :, :, : self.length] = self.buffer[:, :, :, : self.length]
            self.buffer = buffer
        self.buffer[:, :, :, self.length : end] = entries
        self.length = end
        return self.buffer[:, :, :, :end]

    def reorder(self, parents: Tensor) -> "Growing":
        past = select(self.buffer[:, :, :, : self.length], parents)
        shape = list(past.shape)
        shape[3] = self.buffer.size(3)
        buffer = past.new_empty(shape)
        buffer[:, :, :, : self.length] = past
        return Growing(buffer, self.length)

    def keep(self, rows: Tensor) -> "Growing":
        return Growing(self.buffer[rows], self.length)

    def fork(self) -> "Growing":
        return Growing(self.buffer.clone(), self.length)


class State:
    """Where a model stands in its sentences: `memory` per sentence, `cache` per hypothesis.

    `step`, `reorder` and `keep` consume the State they are given, because buffers grow in place;
    using a consumed State raises. `fork` is how one keeps a point to return to.
    """

    def __init__(self, memory: Mapping[str, Tensor], cache: Mapping[str, Cache]) -> None:
        self._memory = memory
        self._cache = cache
        self._consumed = False

    @property
    def memory(self) -> Mapping[str, Tensor]:
        """Tensors with one row per sentence (B, ...), computed once and never copied per beam."""
        self._check()
        return self._memory

    @property
    def cache(self) -> Mapping[str, Cache]:
        """Caches with one row per hypothesis."""
        self._check()
        return self._cache

    def reorder(self, parents: Tensor) -> "State":
        """Hypotheses continued from `parents` (B, N'), indices into the present N."""
        cache = {name: entry.reorder(parents) for name, entry in self.cache.items()}
        return self.successor(cache)

    def keep(self, rows: Tensor) -> "State":
        """The sentences `rows` (B',) only: the finished ones leave."""
        memory = {name: value[rows] for name, value in self.memory.items()}
        cache = {name: entry.keep(rows) for name, entry in self.cache.items()}
        self._consumed = True
        return State(memory, cache)

    def successor(self, cache: Mapping[str, Cache]) -> "State":
        """The State after this one, with the same memory; this one is consumed."""
        memory = self.memory
        self._consumed = True
        return State(memory, cache)

    def fork(self) -> "State":
        """An independent State at the same point."""
        return State(self.memory, {name: entry.fork() for name, entry in self.cache.items()})

    def _check(self) -> None:
        if self._consumed:
            raise RuntimeError("this State was consumed by step, reorder or keep; fork() it first")


class StepModel(Protocol):
    """What search needs of a model."""

    def start(self, batch: Mapping[str, Tensor], prefix: Tensor | None = None) -> State:
        """The State before the first token, one hypothesis per sentence.

        Args:
            prefix: tokens already decided (B, P), before the first one that will be stepped.
        """
        ...

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Takes the newest tokens (B, N, t), gives logits of the next token (B, N, V)."""
        ...


def select(value: Tensor, parents: Tensor) -> Tensor:
    """Rows of value (B, N, ...) at parents (B, N') -> (B, N', ...)."""
    rows = torch.arange(value.size(0), device=value.device)[:, None]
    return value[rows, parents]

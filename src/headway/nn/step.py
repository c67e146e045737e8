"""The seam between models and search: what a model must offer to be searched.

A model that can be stepped gives `start` and `step`; the `State` between them is a value that
search may reorder, thin out and fork. Modules hold weights only. Search imports this file and no
family; families import this file and no search.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Protocol, Self

import torch
from torch import Tensor

from . import masks


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


class Past:
    """Keys and values of past tokens, layer by layer, in slots that are written once and stay.

    A step writes one slot for each hypothesis (and token). Reordering a beam moves no slot: it
    changes only which slots each hypothesis descends from. Slots that nobody descends from are
    dropped when sentences leave, or when the buffers are full; otherwise the buffers double.

    Args:
        widths: of keys and values of each layer, (heads, width) each.
        like: a tensor of the device and type to use.
    """

    def __init__(
        self,
        widths: Sequence[tuple[tuple[int, int], tuple[int, int]]],
        rows: int,
        like: Tensor,
        capacity: int = 32,
    ) -> None:
        self.buffers = [
            [like.new_empty(rows, heads, capacity, width) for heads, width in layer]
            for layer in widths
        ]
        self.visible = torch.zeros(rows, 1, 0, dtype=torch.bool, device=like.device)
        self.length = 0

    def open(self, n: int, t: int) -> masks.Shared:
        """Makes slots for `t` tokens of each of `n` hypotheses and says who sees which slot.

        Returns:
            The mask of the new queries, hypothesis by hypothesis (B, 1, N*t, K).
        """
        self._make_room(n * t)
        mask = masks.descent(self.visible, t)  # (B, N, t, K)
        self.visible = mask[:, :, -1]
        self.length += t
        return masks.Shared(mask.flatten(1, 2)[:, None])

    def hold(self, valid: Tensor) -> masks.Shared:
        """Makes the first slots, for a text that every hypothesis will see. Shape: valid (B, S).

        Returns:
            The mask of its tokens among themselves (B, 1, 1, S).
        """
        self._make_room(valid.size(1))
        self.visible = valid[:, None]
        self.length += valid.size(1)
        return masks.Shared(masks.padding(valid))

    @property
    def places(self) -> Tensor:
        """Where in its sentence each slot stands, from 0 (B, K); -1 if nobody descends from it.

        Hypotheses that share a slot have the same number of slots before it.
        """
        counted = self.visible.cumsum(dim=2) * self.visible
        return counted.amax(dim=1) - 1

    def write(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Fills the newest slots of a layer and gives all of it.

        Shape: (B, H, N*t, E) each -> (B, H, K, E) each.
        """
        end = self.visible.size(2)
        filled = []
        for buffer, new in zip(self.buffers[layer], (key, value), strict=True):
            buffer[:, :, end - new.size(2) : end] = new
            filled.append(buffer[:, :, :end])
        return filled[0], filled[1]

    def reorder(self, parents: Tensor) -> "Past":
        return self._with(self.buffers, select(self.visible, parents))

    def keep(self, rows: Tensor) -> "Past":
        kept = self._with(self.buffers, self.visible[rows])
        kept._gather(rows, kept._ancestors())
        return kept

    def fork(self) -> "Past":
        buffers = [[buffer.clone() for buffer in layer] for layer in self.buffers]
        return self._with(buffers, self.visible)

    def _make_room(self, more: int) -> None:
        if self.visible.size(2) + more > self.buffers[0][0].size(2):
            rows = torch.arange(self.visible.size(0), device=self.visible.device)
            self._gather(rows, self._ancestors(), more)

    def _ancestors(self) -> Tensor:
        """The slots somebody descends from, first in each row (B, K'); the rest is filling."""
        is_seen = self.visible.any(dim=1)  # (B, K)
        n = int(is_seen.sum(dim=1).max()) if is_seen.numel() else 0
        return is_seen.byte().argsort(dim=1, descending=True, stable=True)[:, :n]

    def _gather(self, rows: Tensor, slots: Tensor, more: int = 0) -> None:
        """Takes slots (B', K') of rows (B',) of the buffers, with room for as many again."""
        B, K = slots.shape
        self.visible = self.visible.gather(2, slots[:, None].expand(-1, self.visible.size(1), -1))

        def taken(buffer: Tensor) -> Tensor:
            H, E = buffer.size(1), buffer.size(3)
            moved = buffer.new_empty(B, H, max(2 * K, K + more, 32), E)
            moved[:, :, :K] = buffer.transpose(1, 2)[rows[:, None], slots].transpose(1, 2)
            return moved

        self.buffers = [[taken(buffer) for buffer in layer] for layer in self.buffers]

    def _with(self, buffers: list[list[Tensor]], visible: Tensor) -> "Past":
        past = copy(self)
        past.buffers, past.visible = buffers, visible
        return past


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
        """Takes the newest tokens (B, N, t), gives logits of the next token (B, N, V).

        A search may write into the logits: they are no view of the model's own tensors.
        """
        ...


def select(value: Tensor, parents: Tensor) -> Tensor:
    """Rows of value (B, N, ...) at parents (B, N') -> (B, N', ...)."""
    rows = torch.arange(value.size(0), device=value.device)[:, None]
    return value[rows, parents]

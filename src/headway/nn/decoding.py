"""The interface between models and search: `StepModel`, its `DecoderState` and the caches in it.

A decoder state is a value that a search may reorder, shrink and fork; modules hold weights only.
Search imports this file and no model family; families import this file and no search.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Protocol, Self

import torch
from torch import Tensor

from . import masks


class Cache(Protocol):
    """State with one row per hypothesis. Methods return a new cache and may reuse the old one."""

    def reorder(self, parents: Tensor) -> Self:
        """The cache of N' hypotheses per sentence, copied from `parents` (B, N')."""
        ...

    def keep(self, rows: Tensor) -> Self:
        """The cache of the sentences `rows` (B',) only."""
        ...

    def fork(self) -> Self:
        """An independent copy."""
        ...


class RecurrentCache:
    """A cache of fixed size, such as a recurrent state. Shape: (B, N, ...)."""

    def __init__(self, value: Tensor) -> None:
        self.value = value

    def reorder(self, parents: Tensor) -> "RecurrentCache":
        return RecurrentCache(select(self.value, parents))

    def keep(self, rows: Tensor) -> "RecurrentCache":
        return RecurrentCache(self.value[rows])

    def fork(self) -> "RecurrentCache":
        return RecurrentCache(self.value.clone())


class KVCache:
    """Keys and values of past tokens, per layer, in slots that are written once and never move.

    A step writes one slot per hypothesis and token. Reordering a beam changes only which slots each
    hypothesis sees. Slots that no hypothesis sees are dropped when sentences leave or when the
    buffers are full.

    Attributes:
        visible: which slots each hypothesis sees (B, N, K).
        length: tokens of each hypothesis so far.

    Args:
        widths: (heads, width) of keys and of values, for each layer.
        like: a tensor whose device and dtype the buffers take.
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

    def allocate(self, n: int, t: int) -> masks.Shared:
        """Allocates slots for `t` tokens of each of `n` hypotheses.

        Returns:
            The mask of the new queries, ordered by hypothesis (B, 1, N*t, K).
        """
        self._make_room(n * t)
        mask = masks.descent(self.visible, t)  # (B, N, t, K)
        self.visible = mask[:, :, -1]
        self.length += t
        return masks.Shared(mask.flatten(1, 2)[:, None])

    def prefill(self, valid: Tensor) -> masks.Shared:
        """Allocates the first slots, for a text that all hypotheses see. Shape: valid (B, S).

        Returns:
            The mask of its self-attention (B, 1, 1, S).
        """
        self._make_room(valid.size(1))
        self.visible = valid[:, None]
        self.length += valid.size(1)
        return masks.Shared(masks.padding(valid))

    @property
    def positions(self) -> Tensor:
        """Position of each slot's token in its sentence, from 0 (B, K); -1 if no one sees the slot.

        It is well defined: hypotheses that share a slot see equally many slots before it.
        """
        counted = self.visible.cumsum(dim=2) * self.visible
        return counted.amax(dim=1) - 1

    def write(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Writes the newest slots of a layer and returns all its keys and values.

        Shape: (B, H, N*t, E) each -> (B, H, K, E) each.
        """
        end = self.visible.size(2)
        filled = []
        for buffer, new in zip(self.buffers[layer], (key, value), strict=True):
            buffer[:, :, end - new.size(2) : end] = new
            filled.append(buffer[:, :, :end])
        return filled[0], filled[1]

    def reorder(self, parents: Tensor) -> "KVCache":
        return self._with(self.buffers, select(self.visible, parents))

    def keep(self, rows: Tensor) -> "KVCache":
        kept = self._with(self.buffers, self.visible[rows])
        kept._gather(rows, kept._ancestors())
        return kept

    def fork(self) -> "KVCache":
        buffers = [[buffer.clone() for buffer in layer] for layer in self.buffers]
        return self._with(buffers, self.visible)

    def _make_room(self, more: int) -> None:
        if self.visible.size(2) + more > self.buffers[0][0].size(2):
            rows = torch.arange(self.visible.size(0), device=self.visible.device)
            self._gather(rows, self._ancestors(), more)

    def _ancestors(self) -> Tensor:
        """Indices of the slots in use, first in each row (B, K'); unused ones pad shorter rows."""
        is_seen = self.visible.any(dim=1)  # (B, K)
        n = int(is_seen.sum(dim=1).max()) if is_seen.numel() else 0
        return is_seen.byte().argsort(dim=1, descending=True, stable=True)[:, :n]

    def _gather(self, rows: Tensor, slots: Tensor, more: int = 0) -> None:
        """Keeps slots (B', K') of rows (B',) and makes room for as many again, at least `more`."""
        B, K = slots.shape
        self.visible = self.visible.gather(2, slots[:, None].expand(-1, self.visible.size(1), -1))

        def gather(buffer: Tensor) -> Tensor:
            H, E = buffer.size(1), buffer.size(3)
            gathered = buffer.new_empty(B, H, max(2 * K, K + more, 32), E)
            gathered[:, :, :K] = buffer.transpose(1, 2)[rows[:, None], slots].transpose(1, 2)
            return gathered

        self.buffers = [[gather(buffer) for buffer in layer] for layer in self.buffers]

    def _with(self, buffers: list[list[Tensor]], visible: Tensor) -> "KVCache":
        cache = copy(self)
        cache.buffers, cache.visible = buffers, visible
        return cache


class DecoderState:
    """The state of a decoder between two steps: `memory` per sentence, `cache` per hypothesis.

    `step`, `reorder` and `keep` consume the state they are called with, because buffers grow in
    place; using a consumed state raises an error. Call `fork` first to keep a state.
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

    def reorder(self, parents: Tensor) -> "DecoderState":
        """The state of N' hypotheses that continue `parents` (B, N'), indices into N."""
        cache = {name: entry.reorder(parents) for name, entry in self.cache.items()}
        return self.successor(cache)

    def keep(self, rows: Tensor) -> "DecoderState":
        """The state of the sentences `rows` (B',) only; finished ones leave the batch."""
        memory = {name: value[rows] for name, value in self.memory.items()}
        cache = {name: entry.keep(rows) for name, entry in self.cache.items()}
        self._consumed = True
        return DecoderState(memory, cache)

    def successor(self, cache: Mapping[str, Cache]) -> "DecoderState":
        """The next state, with the same memory; this one is consumed."""
        memory = self.memory
        self._consumed = True
        return DecoderState(memory, cache)

    def fork(self) -> "DecoderState":
        """An independent copy of the state."""
        return DecoderState(self.memory, {name: entry.fork() for name, entry in self.cache.items()})

    def _check(self) -> None:
        if self._consumed:
            raise RuntimeError("this state was consumed by step, reorder or keep; fork() it first")


class StepModel(Protocol):
    """The methods that search calls on a model."""

    def start(self, batch: Mapping[str, Tensor], prefix: Tensor | None = None) -> DecoderState:
        """The state before the first step, with one hypothesis per sentence.

        Args:
            prefix: tokens (B, P) that precede the first stepped token.
        """
        ...

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Logits of the next token (B, N, V) after the newest tokens (B, N, t).

        A search may write into the logits: they must not be a view of the model's own tensors.
        """
        ...


def select(value: Tensor, parents: Tensor) -> Tensor:
    """Rows of value (B, N, ...) at parents (B, N') -> (B, N', ...)."""
    rows = torch.arange(value.size(0), device=value.device)[:, None]
    return value[rows, parents]

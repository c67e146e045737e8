"""Recurrent encoder and decoders: without attention, and with attention by Bahdanau or Luong.

A decoder takes any number of target positions of any number of hypotheses, so that one method
serves the teacher-forced pass and the cached step. Its `carry` (B, N, C, D) is the recurrent state
of a hypothesis. Only what depends on the previous state is computed in a loop over positions. The
cells are in `recurrent_cells`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from . import masks
from .attend import Attends, attend
from .dropout import Dropout, factors
from .recurrent_cells import CELLS, N_PARTS, Parts, input_columns, input_gates, run, step
from .scores import AttentionScore

Memory = Mapping[str, Tensor]
"""`keys` and `values` (B, 1, S, D) and `valid` (B, S) of the source; empty without attention."""


def check_width(d_model: int, bidirectional: bool) -> None:
    """Refuses a width that cannot be divided between the two directions of an `Encoder`.

    Raises:
        ValueError: `d_model` is odd.
    """
    if bidirectional and d_model % 2:
        raise ValueError(
            f"d_model={d_model} is odd and cannot be halved for two directions; "
            f"try d_model={d_model + 1}, or bidirectional = false"
        )


class Encoder(nn.Module):
    """Recurrent layers over the source, each computed in one call.

    A bidirectional encoder gives each direction half of `d_model`.
    """

    def __init__(
        self, cell: str, d_model: int, n_layers: int, bidirectional: bool, dropout: float
    ) -> None:
        super().__init__()
        width = d_model // 2 if bidirectional else d_model
        self.layers = nn.ModuleList(
            CELLS[cell](d_model, width, batch_first=True, bidirectional=bidirectional)
            for _ in range(n_layers)
        )
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
        """States of all tokens, and the last state of each layer.

        The last state of the backward direction is that of the first token. Invalid positions
        between valid ones are read like the others.

        Shape: x (B, S, D), valid (B, S) -> (B, S, D), (B, C, D).
        """
        first = valid.int().argmax(dim=1)  # (B,)
        if not first.any():
            return self._read(x, valid)
        # What is padded in front is read as if it began at its first valid position.
        positions = torch.arange(x.size(1), device=x.device)
        there = (positions + first[:, None]) % x.size(1)  # (B, S)
        back = (positions - first[:, None]) % x.size(1)
        states, last = self._read(_at(x, there), valid.gather(1, there))
        return _at(states, back), last

    def _read(self, x: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
        """States and last states of sequences that begin at the first position."""
        lengths, S = _lengths(valid).clamp(min=1).cpu(), x.size(1)
        states: Tensor | PackedSequence = x
        if (lengths < S).any():  # packing takes as long as the layers
            states = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        last: list[Tensor] = []
        for number, layer in enumerate(self.layers):
            states, ends = layer(self._drop(states, lengths) if number else states)
            parts = ends if isinstance(ends, tuple) else (ends,)  # (directions, B, width) each
            last += [part.transpose(0, 1).flatten(1) for part in parts]
        if isinstance(states, PackedSequence):
            states, _ = pad_packed_sequence(states, batch_first=True, total_length=S)
        return states, torch.stack(last, dim=1)

    def _drop(self, states: Tensor | PackedSequence, lengths: Tensor) -> Tensor | PackedSequence:
        """Dropout between layers. Packing changes no draw: its order of rows is used without it."""
        if isinstance(states, PackedSequence):
            return states._replace(data=self.dropout(states.data))
        if not self.dropout.training or self.dropout.rate == 0.0:
            return states
        order = lengths.sort(descending=True).indices.to(states.device)
        dropped: Tensor = self.dropout(states[order].transpose(0, 1)).transpose(0, 1)
        return dropped[order.argsort()]


def _at(x: Tensor, positions: Tensor) -> Tensor:
    """The vectors of each row at some positions. Shape: (B, S, D), (B, S) -> (B, S, D)."""
    return x.gather(1, positions[..., None].expand(-1, -1, x.size(2)))


def _lengths(valid: Tensor) -> Tensor:
    """The number of positions up to the last valid one. Shape: (B, S) -> (B,)."""
    numbers = torch.arange(1, valid.size(1) + 1, device=valid.device)
    return (valid * numbers).amax(dim=1)


class StateAttention(nn.Module):
    """Attention with one head to encoder states, which serve as keys and as values."""

    attends: Attends = "cross"

    def __init__(self, score: AttentionScore) -> None:
        super().__init__()
        self.score = score

    def prepare(self, states: Tensor, valid: Tensor) -> dict[str, Tensor]:
        """The memory of a batch. Shape: states (B, S, D), valid (B, S)."""
        values = states[:, None]
        return {"keys": self.score.prepare(values), "values": values, "valid": valid}

    def forward(self, query: Tensor, memory: Memory) -> Tensor:
        """The context of each query. Shape: (B, Q, D) -> (B, Q, D)."""
        return attend(
            query[:, None],
            memory["keys"],
            memory["values"],
            masks.padding(memory["valid"]),
            owner=self,
            score=self.score,
        )[:, 0]


class Stack(nn.Module):
    """The recurrent layers of a decoder, with dropout between them."""

    def __init__(
        self, cell: str, d_input: int, d_model: int, n_layers: int, dropout: float
    ) -> None:
        super().__init__()
        self.n_parts = N_PARTS[cell]
        self.layers = nn.ModuleList(
            CELLS[cell](d_model if number else d_input, d_model, batch_first=True)
            for number in range(n_layers)
        )
        self.dropout = Dropout(dropout)

    def __iter__(self) -> Iterator[nn.RNNBase]:
        for layer in self.layers:
            assert isinstance(layer, nn.RNNBase)
            yield layer

    def unpack(self, carry: Tensor) -> list[Parts]:
        """The state of each layer from the carry. Shape: (B, N, C, D) -> parts (B*N, D) each."""
        flat = carry.flatten(0, 1).unbind(1)
        n = self.n_parts
        return [flat[i * n : (i + 1) * n] for i in range(len(self.layers))]

    def run(self, x: Tensor, parts: Sequence[Parts], first: int = 0) -> tuple[Tensor, list[Parts]]:
        """All positions through the layers from `first`, one call per layer.

        Shape: x (R, T, I), parts (R, D) each -> (R, T, D), parts after the last position.
        """
        after = list(parts[:first])
        for number, layer in enumerate(self):
            if number < first:
                continue
            x, last = run(layer, self.dropout(x) if number else x, parts[number])
            after.append(last)
        return x, after


def pack(parts: Sequence[Parts], like: Tensor, *more: Tensor) -> Tensor:
    """The carry (B, N, C, D) from the states of all layers, (B*N, D) each.

    Args:
        like: a tensor (B, N, ...).
        more: vectors (B*N, D) to carry behind the states.
    """
    flat = [part for layer in parts for part in layer]
    return torch.stack([*flat, *more], dim=1).unflatten(0, like.shape[:2])


class Bottleneck(nn.Module):
    """Decoder without attention: it knows of the source what its initial state holds."""

    def __init__(self, stack: Stack) -> None:
        super().__init__()
        self.stack = stack

    def begin(self, last: Tensor) -> Tensor:
        """The carry (B, 1, C, D) of one hypothesis, from the encoder's last states (B, C, D)."""
        return last[:, None]

    def forward(self, x: Tensor, memory: Memory, carry: Tensor) -> tuple[Tensor, Tensor]:
        """Shape: x (B, N, t, D), carry (B, N, C, D) -> hidden (B, N, t, D), carry."""
        states, parts = self.stack.run(x.flatten(0, 1), self.stack.unpack(carry))
        return states.view_as(x), pack(parts, x)


class AttentionDecoder(nn.Module):
    """The parts of a decoder with attention, and its initial carry. Subclasses add `forward`.

    Attributes:
        n_combined: number of vectors (state, context, ...) that `combine` joins to a hidden state.
    """

    n_combined: ClassVar[int] = 2

    def __init__(self, stack: Stack, attention: StateAttention, d_model: int) -> None:
        super().__init__()
        self.stack = stack
        self.attention = attention
        self.combine = nn.Linear(self.n_combined * d_model, d_model)

    def begin(self, last: Tensor) -> Tensor:
        """The carry (B, 1, C, D) of one hypothesis, from the encoder's last states (B, C, D)."""
        return last[:, None]


class Luong(AttentionDecoder):
    """Steps, then attends with the new state: `h_i = tanh(W [s_i; c_i])` (Luong et al. 2015)."""

    def forward(self, x: Tensor, memory: Memory, carry: Tensor) -> tuple[Tensor, Tensor]:
        """Shape: x (B, N, t, D), carry (B, N, C, D) -> hidden (B, N, t, D), carry."""
        states, parts = self.stack.run(x.flatten(0, 1), self.stack.unpack(carry))
        queries = states.view_as(x).flatten(1, 2)  # beams and positions in the query axis
        context = self.attention(queries, memory)
        hidden = self.combine(torch.cat([queries, context], dim=-1)).tanh()
        return hidden.view_as(x), pack(parts, x)


class InputFeeding(AttentionDecoder):
    """Luong's decoder with `h_{i-1}` as an input of step i, which needs a loop over positions.

    Dropout applies to the `h_i` of the output layer, not to the one that is fed.
    """

    def begin(self, last: Tensor) -> Tensor:
        """The carry of one hypothesis, with the fed vector (zeros at first) behind the states."""
        return torch.cat([last, torch.zeros_like(last[:, :1])], dim=1)[:, None]

    def forward(self, x: Tensor, memory: Memory, carry: Tensor) -> tuple[Tensor, Tensor]:
        """Shape: x (B, N, t, D), carry (B, N, C, D) -> hidden (B, N, t, D), carry."""
        first, *upper = self.stack
        gates = input_gates(first, x.flatten(0, 1))  # (B*N, t, G)
        parts = self.stack.unpack(carry.to(gates.dtype))
        fed = carry[:, :, -1].flatten(0, 1).to(gates.dtype)
        columns = input_columns(first, fed.size(1))
        factors_between = self._factors_between(x, len(upper))
        hidden = []
        for position, gate in enumerate(gates.unbind(1)):
            parts[0] = step(first, torch.addmm(gate, fed, columns), parts[0])
            for number, layer in enumerate(upper, start=1):
                below = parts[number - 1][0]
                if factors_between is not None:
                    below = below * factors_between[number - 1][position]
                parts[number] = step(layer, input_gates(layer, below), parts[number])
            state = parts[-1][0]
            context = self.attention(state.unflatten(0, x.shape[:2]), memory).flatten(0, 1)
            fed = self.combine(torch.cat([state, context], dim=1)).tanh()
            hidden.append(fed)
        return torch.stack(hidden, dim=1).unflatten(0, x.shape[:2]), pack(parts, x, fed)

    def _factors_between(self, x: Tensor, n: int) -> list[Sequence[Tensor]] | None:
        """Dropout factors between the layers, for all positions at once; None if all are 1."""
        dropout = self.stack.dropout
        if not n or not dropout.training or dropout.rate == 0.0:
            return None
        return [factors(x.flatten(0, 1), dropout.rate).unbind(1) for _ in range(n)]


class Bahdanau(AttentionDecoder):
    """Attends with the previous state, then steps with the context (Bahdanau et al. 2015).

    `c_i = attention(s_{i-1})`, `s_i = f(s_{i-1}, y_{i-1}, c_i)`, and for the output layer
    `h_i = tanh(W [y_{i-1}; s_i; c_i])`.

    With several layers only the first attends (Wu et al. 2016), so that the others need no loop.
    """

    n_combined = 3

    def forward(self, x: Tensor, memory: Memory, carry: Tensor) -> tuple[Tensor, Tensor]:
        """Shape: x (B, N, t, D), carry (B, N, C, D) -> hidden (B, N, t, D), carry."""
        first, *_ = self.stack
        embedded = x.flatten(0, 1)  # (B*N, t, D)
        gates = input_gates(first, embedded)
        parts = self.stack.unpack(carry.to(gates.dtype))
        columns = input_columns(first, x.size(-1))
        states, contexts = [], []
        for gate in gates.unbind(1):
            query = parts[0][0].unflatten(0, x.shape[:2])
            context = self.attention(query, memory).flatten(0, 1)
            parts[0] = step(first, torch.addmm(gate, context, columns), parts[0])
            states.append(parts[0][0])
            contexts.append(context)
        top, parts = self.stack.run(torch.stack(states, dim=1), parts, first=1)
        joined = torch.cat([embedded, top, torch.stack(contexts, dim=1)], dim=-1)
        return self.combine(joined).tanh().view_as(x), pack(parts, x)

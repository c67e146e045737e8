"""Recurrent encoder and decoders: without attention, and in the forms of Bahdanau and of Luong.

A decoder takes any number of target positions of any number of hypotheses, so that the
teacher-forced pass and the cached step are one way. Its `carry` (B, N, C, D) is all it remembers of
a hypothesis. Whatever does not depend on the state before is computed for all positions at once,
outside the loop over them; forms without such a dependence have no loop.
"""

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from . import masks
from .attend import attend
from .cells import CELLS, N_PARTS, Parts, input_columns, input_gates, run, step
from .dropout import Dropout, factors
from .scores import Score

Memory = Mapping[str, Tensor]
"""Of each sentence: `keys` and `values` (B, 1, S, D), `valid` (B, S); empty without attention."""


class Encoder(nn.Module):
    """Layers that read the source, each in one call.

    In both directions each reads with half the width, so that states are as wide as in one.
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
        """Shape: x (B, S, D), valid (B, S) -> states (B, S, D), the last of each layer (B, C, D).

        The last state is that of the last word; of the way back, that of the first word.
        """
        lengths = valid.sum(1).clamp(min=1).cpu()
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        last: list[Tensor] = []
        for number, layer in enumerate(self.layers):
            if number:
                packed = packed._replace(data=self.dropout(packed.data))
            packed, ends = layer(packed)
            parts = ends if isinstance(ends, tuple) else (ends,)  # (directions, B, width) each
            last += [part.transpose(0, 1).flatten(1) for part in parts]
        assert isinstance(packed, PackedSequence)
        states, _ = pad_packed_sequence(packed, batch_first=True, total_length=x.size(1))
        return states, torch.stack(last, dim=1)


class StateAttention(nn.Module):
    """One head from decoder states to encoder states, which are keys and values at once."""

    def __init__(self, score: Score) -> None:
        super().__init__()
        self.score = score

    def prepare(self, states: Tensor, valid: Tensor) -> dict[str, Tensor]:
        """The memory of sentences, once. Shape: states (B, S, D), valid (B, S)."""
        values = states[:, None]
        return {"keys": self.score.prepare(values), "values": values, "valid": valid}

    def forward(self, query: Tensor, memory: Memory) -> Tensor:
        """Contexts of queries. Shape: (B, Q, D) -> (B, Q, D)."""
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
        """The state of each layer. Shape: (B, N, C, D) -> parts (B*N, D) each."""
        flat = carry.flatten(0, 1).unbind(1)
        n = self.n_parts
        return [flat[i * n : (i + 1) * n] for i in range(len(self.layers))]

    def run(self, x: Tensor, parts: Sequence[Parts], first: int = 0) -> tuple[Tensor, list[Parts]]:
        """All positions, a call for each layer from `first` on. Shape: x (R, T, I) -> (R, T, D)."""
        after = list(parts[:first])
        for number, layer in enumerate(self):
            if number < first:
                continue
            x, last = run(layer, self.dropout(x) if number else x, parts[number])
            after.append(last)
        return x, after


def pack(parts: Sequence[Parts], like: Tensor, *more: Tensor) -> Tensor:
    """The carry (B, N, C, D) of states (B*N, D), for the hypotheses of like (B, N, ...)."""
    flat = [part for layer in parts for part in layer]
    return torch.stack([*flat, *more], dim=1).unflatten(0, like.shape[:2])


class Bottleneck(nn.Module):
    """No attention: all that is known of the source is the state to begin with."""

    def __init__(self, stack: Stack) -> None:
        super().__init__()
        self.stack = stack

    def begin(self, last: Tensor) -> Tensor:
        """The carry of one hypothesis from the encoder's last states (B, C, D)."""
        return last[:, None]

    def forward(self, x: Tensor, memory: Memory, carry: Tensor) -> tuple[Tensor, Tensor]:
        """Shape: x (B, N, t, D), carry (B, N, C, D) -> hidden (B, N, t, D), carry."""
        states, parts = self.stack.run(x.flatten(0, 1), self.stack.unpack(carry))
        return states.view_as(x), pack(parts, x)


class Luong(nn.Module):
    """Step, then attend with the new state: `h_i = tanh(W [s_i; c_i])` (Luong et al. 2015)."""

    def __init__(self, stack: Stack, attention: StateAttention, d_model: int) -> None:
        super().__init__()
        self.stack = stack
        self.attention = attention
        self.combine = nn.Linear(2 * d_model, d_model)

    def begin(self, last: Tensor) -> Tensor:
        return last[:, None]

    def forward(self, x: Tensor, memory: Memory, carry: Tensor) -> tuple[Tensor, Tensor]:
        states, parts = self.stack.run(x.flatten(0, 1), self.stack.unpack(carry))
        queries = states.view_as(x).flatten(1, 2)  # beams and positions in the query axis
        context = self.attention(queries, memory)
        hidden = self.combine(torch.cat([queries, context], dim=-1)).tanh()
        return hidden.view_as(x), pack(parts, x)


class InputFeeding(nn.Module):
    """Luong's form whose last `h_i` is an input of the next step, which makes it a loop.

    What is fed is not dropped; only what goes to the output layer is.
    """

    def __init__(self, stack: Stack, attention: StateAttention, d_model: int) -> None:
        super().__init__()
        self.stack = stack
        self.attention = attention
        self.combine = nn.Linear(2 * d_model, d_model)

    def begin(self, last: Tensor) -> Tensor:
        """With the fed vector, zero at first, behind the states."""
        return torch.cat([last, torch.zeros_like(last[:, :1])], dim=1)[:, None]

    def forward(self, x: Tensor, memory: Memory, carry: Tensor) -> tuple[Tensor, Tensor]:
        first, *upper = self.stack
        gates = input_gates(first, x.flatten(0, 1))  # (B*N, t, G)
        parts = self.stack.unpack(carry.to(gates.dtype))
        fed = carry[:, :, -1].flatten(0, 1).to(gates.dtype)
        columns = input_columns(first, fed.size(1))
        kept = self._kept(x, len(upper))
        hidden = []
        for position, gate in enumerate(gates.unbind(1)):
            parts[0] = step(first, torch.addmm(gate, fed, columns), parts[0])
            for number, layer in enumerate(upper, start=1):
                below = parts[number - 1][0]
                if kept is not None:
                    below = below * kept[number - 1][position]
                parts[number] = step(layer, input_gates(layer, below), parts[number])
            state = parts[-1][0]
            context = self.attention(state.unflatten(0, x.shape[:2]), memory).flatten(0, 1)
            fed = self.combine(torch.cat([state, context], dim=1)).tanh()
            hidden.append(fed)
        return torch.stack(hidden, dim=1).unflatten(0, x.shape[:2]), pack(parts, x, fed)

    def _kept(self, x: Tensor, n: int) -> list[Sequence[Tensor]] | None:
        """What dropout between the layers multiplies by, drawn for all positions at once."""
        dropout = self.stack.dropout
        if not n or not dropout.training or dropout.rate == 0.0:
            return None
        return [factors(x.flatten(0, 1), dropout.rate).unbind(1) for _ in range(n)]


class Bahdanau(nn.Module):
    """Attend with the state before, then step with the context (Bahdanau et al. 2015).

    `c_i = attention(s_{i-1})`, `s_i = f(s_{i-1}, y_{i-1}, c_i)`, and for the output layer
    `h_i = tanh(W [y_{i-1}; s_i; c_i])`.

    With several layers the first attends (Wu et al. 2016), so that the others need no loop.
    """

    def __init__(self, stack: Stack, attention: StateAttention, d_model: int) -> None:
        super().__init__()
        self.stack = stack
        self.attention = attention
        self.combine = nn.Linear(3 * d_model, d_model)

    def begin(self, last: Tensor) -> Tensor:
        return last[:, None]

    def forward(self, x: Tensor, memory: Memory, carry: Tensor) -> tuple[Tensor, Tensor]:
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

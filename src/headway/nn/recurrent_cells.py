"""PyTorch's recurrent layers, over a whole sequence in one call or position by position.

A step takes the input part of the gates, which the caller computes for all positions at once, so
that a loop computes only what depends on the previous state. Encoders and decoders are in
`recurrent`.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

Parts = tuple[Tensor, ...]
"""The state of a layer, (R, D) each: the hidden state, and for an LSTM also the cell state."""

CELLS: Mapping[str, Callable[..., nn.RNNBase]] = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
N_PARTS: Mapping[str, int] = {"rnn": 1, "gru": 1, "lstm": 2}


def run(layer: nn.RNNBase, x: Tensor, parts: Parts) -> tuple[Tensor, Parts]:
    """States of all positions in one call.

    Shape: x (R, T, I), parts (R, D) each -> (R, T, D), parts after the last position.
    """
    first = tuple(part[None].contiguous() for part in parts)
    if isinstance(layer, nn.LSTM):
        states, (hidden, cell) = layer(x, first)
        return states, (hidden[0], cell[0])
    states, hidden = layer(x, first[0])
    return states, (hidden[0],)


def input_gates(layer: Any, x: Tensor) -> Tensor:
    """The input part of the gates, from the first I' numbers of a layer's input.

    `input_columns` gives the matrix for the others.

    Shape: (..., I') -> (..., G).
    """
    return linear(x, layer.weight_ih_l0[:, : x.size(-1)], layer.bias_ih_l0)


def input_columns(layer: Any, n: int) -> Tensor:
    """The matrix (n, G) from the last `n` numbers of a layer's input to the gates.

    Call it before a loop: in the backward pass each slice costs zeros of the weight's full size.
    """
    return layer.weight_ih_l0[:, -n:].t()


def step(layer: Any, gates: Tensor, parts: Parts) -> Parts:
    """The state after one position, from its input gates. Shape: (R, G), parts (R, D) -> parts."""
    return _STEPS[layer.mode](gates, parts, layer.weight_hh_l0, layer.bias_hh_l0)


def _step_rnn(gates: Tensor, parts: Parts, weight: Tensor, bias: Tensor) -> Parts:
    """`h' = tanh(gates + W h + b)`."""
    (h,) = parts
    return ((gates + linear(h, weight, bias)).tanh(),)


def _step_gru(gates: Tensor, parts: Parts, weight: Tensor, bias: Tensor) -> Parts:
    """`h' = (1 - z) n + z h` with `n = tanh(gates_n + r (W_n h + b_n))` (Cho et al. 2014).

    As in `torch.nn.GRU`, r acts after the product, so that one product serves all gates.
    """
    (h,) = parts
    D = h.size(1)
    from_input, new_input = gates.split([2 * D, D], dim=1)
    from_state, new_state = linear(h, weight, bias).split([2 * D, D], dim=1)
    r, z = (from_input + from_state).sigmoid().chunk(2, dim=1)
    return (torch.lerp(torch.addcmul(new_input, r, new_state).tanh(), h, z),)


def _step_lstm(gates: Tensor, parts: Parts, weight: Tensor, bias: Tensor) -> Parts:
    """`c' = f c + i g`, `h' = o tanh(c')`."""
    h, c = parts
    i, f, g, o = (gates + linear(h, weight, bias)).chunk(4, dim=1)
    c = torch.addcmul(f.sigmoid() * c, i.sigmoid(), g.tanh())
    return o.sigmoid() * c.tanh(), c


_STEPS: Mapping[str, Callable[[Tensor, Parts, Tensor, Tensor], Parts]] = {
    "RNN_TANH": _step_rnn,
    "GRU": _step_gru,
    "LSTM": _step_lstm,
}

"""Recurrent layers: PyTorch's own, over a whole sequence in one call or position by position.

A step is computed from the layer's weights and from gates whose input part is already there, so
that a loop does only what depends on the state before. What the states are for is left to
`recurrent`.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

Parts = tuple[Tensor, ...]
"""The state of a layer, (R, D) each: hidden, and for an LSTM its cell."""

CELLS: Mapping[str, Callable[..., nn.RNNBase]] = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
N_PARTS: Mapping[str, int] = {"rnn": 1, "gru": 1, "lstm": 2}


def run(layer: nn.RNNBase, x: Tensor, parts: Parts) -> tuple[Tensor, Parts]:
    """All positions in one call.

    Shape: x (R, T, I), parts (R, D) each -> states (R, T, D), parts after the last.
    """
    first = tuple(part[None].contiguous() for part in parts)
    if isinstance(layer, nn.LSTM):
        states, (hidden, cell) = layer(x, first)
        return states, (hidden[0], cell[0])
    states, hidden = layer(x, first[0])
    return states, (hidden[0],)


def input_gates(layer: Any, x: Tensor) -> Tensor:
    """What an input adds to the gates; the rest of a wider input is for `input_columns`.

    Shape: (..., I') -> (..., G).
    """
    return linear(x, layer.weight_ih_l0[:, : x.size(-1)], layer.bias_ih_l0)


def input_columns(layer: Any, n: int) -> Tensor:
    """The matrix (n, G) by which the last `n` numbers of the input go to the gates.

    Take it before a loop: each slice of a weight costs a weight's worth of zeros on the way back.
    """
    return layer.weight_ih_l0[:, -n:].t()


def step(layer: Any, gates: Tensor, parts: Parts) -> Parts:
    """One position from its input gates. Shape: (R, G), parts (R, D) each -> parts."""
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

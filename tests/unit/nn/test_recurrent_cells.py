"""Recurrent layers step by step are the layers of `torch.nn` over the whole sequence."""

import pytest
import torch

from headway.nn.recurrent_cells import CELLS, N_PARTS, input_columns, input_gates, run, step

cells = pytest.mark.parametrize("cell", list(CELLS))
B, T, D_INPUT, D = 3, 5, 4, 6


def make(cell, d_input=D_INPUT):
    torch.manual_seed(0)
    layer = CELLS[cell](d_input, D, batch_first=True)
    parts = tuple(torch.randn(B, D) for _ in range(N_PARTS[cell]))
    return layer, torch.randn(B, T, d_input), parts


def walk(layer, x, parts, known=None):
    """Step by step, with the first `known` columns of the input given beforehand."""
    known = known or x.size(-1)
    gates, rest, states = input_gates(layer, x[..., :known]), x[..., known:], []
    for t, gate in enumerate(gates.unbind(1)):
        if rest.size(-1):
            gate = torch.addmm(gate, rest[:, t], input_columns(layer, rest.size(-1)))
        parts = step(layer, gate, parts)
        states.append(parts[0])
    return torch.stack(states, dim=1), parts


@cells
def test_the_whole_sequence_is_what_torch_computes(cell):
    layer, x, parts = make(cell)
    states, last = run(layer, x, parts)
    first = tuple(part[None] for part in parts)
    expected, _ = layer(x, first if cell == "lstm" else first[0])
    torch.testing.assert_close(states, expected)
    torch.testing.assert_close(last[0], expected[:, -1])
    assert len(last) == N_PARTS[cell]


@cells
@pytest.mark.parametrize("known", [None, 1, 3])
def test_steps_are_the_whole_sequence(cell, known):
    layer, x, parts = make(cell)
    whole, last = run(layer, x, parts)
    states, after = walk(layer, x, parts, known)
    torch.testing.assert_close(states, whole)
    for one, other in zip(after, last, strict=True):
        torch.testing.assert_close(one, other)


@cells
def test_gradients_of_steps_are_those_of_the_whole_sequence(cell):
    gradients = []
    for way in (run, lambda *given: walk(*given, known=3)):
        layer, x, parts = make(cell)
        leaves = [x.requires_grad_(), *(part.requires_grad_() for part in parts)]
        way(layer, x, parts)[0].square().sum().backward()
        gradients.append([leaf.grad for leaf in (*leaves, *layer.parameters())])
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)


@cells
def test_a_sequence_in_two_pieces(cell):
    layer, x, parts = make(cell)
    whole, _ = run(layer, x, parts)
    head, between = run(layer, x[:, :2], parts)
    tail, _ = run(layer, x[:, 2:], between)
    torch.testing.assert_close(torch.cat([head, tail], dim=1), whole)


def test_a_plain_cell_by_hand():
    """`tanh(2 * 0.5 + 3 * 0.1 + 0.2 - 0.4)`."""
    layer = CELLS["rnn"](1, 1, batch_first=True)
    for parameter, value in zip(layer.parameters(), (2.0, 3.0, 0.2, -0.4), strict=True):
        torch.nn.init.constant_(parameter, value)
    (h,) = step(layer, input_gates(layer, torch.tensor([[0.5]])), (torch.tensor([[0.1]]),))
    torch.testing.assert_close(h, torch.tensor([[1.1]]).tanh())

"""Recurrent encoder and decoders: padding, the carry, hypotheses side by side, steps."""

import pytest
import torch

from headway.nn.recurrent import (
    Bahdanau,
    Bottleneck,
    Encoder,
    InputFeeding,
    Luong,
    Stack,
    StateAttention,
    pack,
)
from headway.nn.recurrent_cells import CELLS, N_PARTS
from headway.nn.scores import Dot

D = 4
cells = pytest.mark.parametrize("cell", list(CELLS))


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def make_decoder(form, cell="gru", n_layers=2):
    """A decoder of a form and the states that it begins with, with a memory of two sentences."""
    wide = form in (InputFeeding, Bahdanau)
    stack = Stack(cell, 2 * D if wide else D, D, n_layers, dropout=0.0)
    attention = StateAttention(Dot())
    decoder = form(stack) if form is Bottleneck else form(stack, attention, D)
    valid = torch.tensor([[True, True, True], [True, False, False]])
    memory = {} if form is Bottleneck else attention.prepare(torch.randn(2, 3, D), valid)
    return decoder.eval(), memory, decoder.begin(torch.randn(2, n_layers * N_PARTS[cell], D))


forms = pytest.mark.parametrize("form", [Bottleneck, Luong, InputFeeding, Bahdanau])


@cells
@pytest.mark.parametrize("bidirectional", [False, True])
def test_padding_does_not_reach_the_encoder(cell, bidirectional):
    encoder = Encoder(cell, D, 2, bidirectional, dropout=0.0)
    x, valid = torch.randn(2, 3, D), torch.tensor([[True] * 3, [True, False, False]])
    states, last = encoder(x, valid)
    alone, last_alone = encoder(x[1:, :1], valid[1:, :1])
    assert states.shape == (2, 3, D)
    assert last.shape == (2, 2 * N_PARTS[cell], D)
    torch.testing.assert_close(states[1:, :1], alone)
    torch.testing.assert_close(last[1:], last_alone)
    assert (states[1, 1:] == 0).all()


def test_the_last_state_of_each_direction_is_where_it_ends():
    encoder = Encoder("gru", D, 1, bidirectional=True, dropout=0.0)
    states, last = encoder(torch.randn(1, 3, D), torch.ones(1, 3, dtype=torch.bool))
    torch.testing.assert_close(last[0, 0, : D // 2], states[0, -1, : D // 2])
    torch.testing.assert_close(last[0, 0, D // 2 :], states[0, 0, D // 2 :])


@cells
@pytest.mark.parametrize("bidirectional", [False, True])
def test_packing_changes_nothing_not_even_a_draw(cell, bidirectional):
    """Sequences without padding are not packed; many of them, so that packing reorders them."""
    encoder = Encoder(cell, D, 2, bidirectional, dropout=0.5).train()
    x, valid = torch.randn(40, 3, D), torch.ones(40, 3, dtype=torch.bool)
    wider = torch.nn.functional.pad(x, (0, 0, 0, 1)), torch.nn.functional.pad(valid, (0, 1))
    torch.manual_seed(1)
    states, last = encoder(x, valid)
    torch.manual_seed(1)
    packed, packed_last = encoder(*wider)
    torch.testing.assert_close(packed[:, :3], states)
    torch.testing.assert_close(packed_last, last)


def test_invalid_positions_between_valid_ones_are_read():
    encoder = Encoder("gru", D, 1, bidirectional=False, dropout=0.0)
    x = torch.randn(1, 4, D)
    holes = torch.tensor([[True, True, False, True]])
    assert torch.equal(encoder(x, holes)[1], encoder(x, torch.ones_like(holes))[1])


@cells
@pytest.mark.parametrize("bidirectional", [False, True])
def test_padding_in_front_does_not_reach_the_encoder(cell, bidirectional):
    """Rows that begin at the first, the second and the last position, and one that also ends."""
    encoder = Encoder(cell, D, 2, bidirectional, dropout=0.0)
    x, spans = torch.randn(4, 5, D), [(0, 5), (1, 5), (4, 5), (2, 4)]
    valid = torch.tensor([[start <= i < stop for i in range(5)] for start, stop in spans])
    states, last = encoder(x, valid)
    for row, (start, stop) in enumerate(spans):
        alone, last_alone = encoder(x[row, None, start:stop], valid[row, None, start:stop])
        torch.testing.assert_close(states[row, None, start:stop], alone)
        torch.testing.assert_close(last[row, None], last_alone)


def test_a_sentence_of_padding_alone_has_finite_states():
    encoder = Encoder("gru", D, 1, bidirectional=True, dropout=0.0)
    states, last = encoder(torch.randn(1, 2, D), torch.zeros(1, 2, dtype=torch.bool))
    assert states.isfinite().all()
    assert last.isfinite().all()


def test_attention_sees_valid_states_alone():
    attention = StateAttention(Dot())
    states, valid = torch.randn(1, 3, D), torch.tensor([[True, False, False]])
    context = attention(torch.randn(1, 2, D), attention.prepare(states, valid))
    torch.testing.assert_close(context, states[:, :1].expand(1, 2, D))


@cells
def test_packing_undoes_unpacking(cell):
    stack = Stack(cell, D, D, 2, dropout=0.0)
    carry = torch.randn(2, 3, 2 * N_PARTS[cell], D)
    parts = stack.unpack(carry)
    assert [len(layer) for layer in parts] == [N_PARTS[cell]] * 2
    torch.testing.assert_close(pack(parts, carry), carry)


@forms
@cells
def test_steps_are_the_whole(form, cell):
    decoder, memory, carry = make_decoder(form, cell)
    x = torch.randn(2, 1, 3, D)
    whole, after = decoder(x, memory, carry)
    hidden = []
    for position in range(3):
        step, carry = decoder(x[:, :, position : position + 1], memory, carry)
        hidden.append(step)
    assert whole.shape == x.shape
    torch.testing.assert_close(torch.cat(hidden, dim=2), whole)
    torch.testing.assert_close(carry, after)


@forms
def test_hypotheses_do_not_feel_each_other(form):
    decoder, memory, carry = make_decoder(form)
    x = torch.randn(2, 3, 2, D)
    together, after = decoder(x, memory, carry.expand(-1, 3, -1, -1))
    for beam in range(3):
        alone, carried = decoder(x[:, beam : beam + 1], memory, carry)
        torch.testing.assert_close(together[:, beam : beam + 1], alone)
        torch.testing.assert_close(after[:, beam : beam + 1], carried)


def test_what_is_fed_is_zero_at_first_and_then_the_last_output():
    decoder, memory, carry = make_decoder(InputFeeding)
    assert (carry[:, :, -1] == 0).all()
    hidden, after = decoder(torch.randn(2, 1, 2, D), memory, carry)
    torch.testing.assert_close(after[:, :, -1], hidden[:, :, -1])


def test_without_attention_the_memory_is_not_read():
    decoder, _, carry = make_decoder(Bottleneck)
    hidden, _ = decoder(torch.randn(2, 1, 1, D), {}, carry)
    assert hidden.shape == (2, 1, 1, D)

"""Positions: the worked example, the identities of the sines, rotations, and where tables end."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import DataError
from headway.nn.positions import (
    LearnedPositions,
    NoPositions,
    RelativeBias,
    Rotary,
    Sinusoidal,
    bucket,
    sinusoidal,
)


def test_worked_example():
    """d_m = 4, "I love to play soccer"."""
    codes = sinusoidal(torch.arange(5), 4)
    assert codes[0].tolist() == [0.0, 1.0, 0.0, 1.0]  # "I"
    love = [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]
    assert codes[1].tolist() == pytest.approx(love, abs=1e-7)


def test_formula_entry_by_entry():
    d, base = 6, 500.0
    codes = sinusoidal(torch.tensor([0, 3, 77]), d, base)
    for row, position in zip(codes.tolist(), [0, 3, 77], strict=True):
        for i in range(d // 2):
            angle = position / base ** (2 * i / d)
            assert row[2 * i] == pytest.approx(math.sin(angle), abs=1e-6)
            assert row[2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-6)


@pytest.mark.parametrize("d", [2, 4, 64, 512])
def test_diagonal_of_products_is_half_the_width(d):
    """Each pair gives sin^2 + cos^2 = 1, so the sum is exactly d / 2, up to float32 rounding."""
    codes = sinusoidal(torch.arange(300), d).double()
    diagonal = (codes @ codes.T).diagonal()
    torch.testing.assert_close(diagonal, torch.full_like(diagonal, d / 2), rtol=1e-6, atol=0)


def test_products_depend_on_the_distance_alone_and_near_is_more_alike_than_far():
    codes = sinusoidal(torch.arange(200), 64).double()
    products = codes @ codes.T
    for distance in (1, 5, 50):
        band = products.diagonal(distance)
        assert (band - band[0]).abs().max() < 1e-4
    assert products[0, 0] > products[0, 1] > products[0, 3]


def test_base_is_a_parameter():
    codes = [sinusoidal(torch.tensor([1]), 4, base)[0, 2].item() for base in (10000.0, 1000.0)]
    assert codes == pytest.approx([math.sin(1 / 100), math.sin(1 / math.sqrt(1000))], abs=1e-7)
    module = Sinusoidal(4, base=1000.0)
    assert module(torch.zeros(2, 4))[1, 2].item() == pytest.approx(codes[1], abs=1e-7)


def test_far_positions_keep_their_precision():
    position, d = 100_003, 8
    code = sinusoidal(torch.tensor([position]), d)[0].tolist()
    angle = position / 10000 ** (2 / d)
    assert code[:4] == pytest.approx(
        [math.sin(position), math.cos(position), math.sin(angle), math.cos(angle)], abs=1e-6
    )


def test_odd_width():
    codes = sinusoidal(torch.arange(3), 5)
    assert codes.shape == (3, 5)
    assert codes[2, 4].item() == pytest.approx(math.sin(2 / 10000 ** (4 / 5)), abs=1e-7)


def test_table_grows_beyond_its_length():
    module = Sinusoidal(8)
    x = torch.zeros(1, 1300, 8)
    torch.testing.assert_close(module(x)[0], sinusoidal(torch.arange(1300), 8))
    torch.testing.assert_close(module(x[:, :3], 4000)[0], sinusoidal(torch.arange(4000, 4003), 8))
    torch.testing.assert_close(module(x[:, :2])[0], sinusoidal(torch.arange(2), 8))


@pytest.mark.parametrize("kind", [Sinusoidal, Rotary])
def test_a_table_grown_without_gradients_serves_training_afterwards(kind):
    module = kind(4)
    with torch.inference_mode():
        module(torch.zeros(1, 700, 4))
    x = torch.zeros(1, 700, 4, requires_grad=True)
    (module(x) ** 2).sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()


@pytest.mark.parametrize("kind", [Sinusoidal, Rotary])
def test_positions_are_not_among_the_weights(kind):
    assert dict(kind(8).state_dict()) == {}
    assert list(kind(8).parameters()) == []


def test_offset_continues_and_empty_input_passes():
    module = Sinusoidal(6)
    x = torch.randn(2, 7, 6)
    whole = module(x)
    pieces = torch.cat([module(x[:, :3]), module(x[:, 3:4], 3), module(x[:, 4:], 4)], dim=1)
    torch.testing.assert_close(whole, pieces)
    assert module(torch.zeros(2, 0, 6)).shape == (2, 0, 6)


def test_learned_adds_its_rows_and_ends_in_words():
    module = LearnedPositions(3, max_length=4)
    x = torch.zeros(2, 2, 3)
    torch.testing.assert_close(module(x, 2)[1], module.weight[2:4].detach())
    with pytest.raises(DataError, match="position 5 is beyond the 4 learned positions"):
        module(x, 3)


def test_learned_gives_gradients_to_the_positions_used():
    module = LearnedPositions(3, max_length=4)
    module(torch.zeros(5, 2, 3), 1).sum().backward()
    assert module.weight.grad.tolist() == [[0.0] * 3, [5.0] * 3, [5.0] * 3, [0.0] * 3]


def test_no_positions():
    x = torch.randn(1, 2, 3)
    assert NoPositions()(x, 9) is x


def test_rotary_turns_pairs_by_hand():
    rotary = Rotary(4)
    x = torch.tensor([[1.0, 0.0, 0.0, 1.0]])
    turned = rotary(x, position_ids=2)[0].tolist()
    expected = [math.cos(2), math.sin(2), -math.sin(0.02), math.cos(0.02)]
    assert turned == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("length", "offset"), [(1, 0), (7, 3), (1, 700), (40, 500), (1300, 0)])
def test_rotary_takes_its_angles_from_a_table_bit_for_bit(length, offset):
    rotary = Rotary(6)
    x = torch.randn(2, length, 6)
    codes = sinusoidal(torch.arange(offset, offset + length), 6)
    sin, cos = codes[:, 0::2], codes[:, 1::2]
    turned = rotary(x, offset)
    assert torch.equal(turned[..., 0::2], x[..., 0::2] * cos - x[..., 1::2] * sin)
    assert torch.equal(turned[..., 1::2], x[..., 0::2] * sin + x[..., 1::2] * cos)
    table = rotary.sines.table
    assert torch.equal(rotary(x, offset), turned)
    assert rotary.sines.table is table


def test_rotary_leaves_position_zero_and_lengths_alone():
    x = torch.randn(2, 3, 5, 8)
    turned = Rotary(8)(x)
    torch.testing.assert_close(turned[..., 0, :], x[..., 0, :])
    torch.testing.assert_close(turned.norm(dim=-1), x.norm(dim=-1))


@given(st.integers(0, 500), st.integers(0, 500), st.integers(0, 1000), st.integers(0, 10_000))
def test_rotary_products_depend_on_relative_positions_only(i, j, shift, seed):
    draw = torch.Generator().manual_seed(seed)
    query = torch.randn(1, 8, generator=draw, dtype=torch.float64)
    key = torch.randn(1, 8, generator=draw, dtype=torch.float64)
    rotary = Rotary(8)
    here = (rotary(query, i) * rotary(key, j)).sum().item()
    there = (rotary(query, i + shift) * rotary(key, j + shift)).sum().item()
    assert here == pytest.approx(there, abs=1e-5)  # the codes are float32


def test_rotary_products_do_depend_on_the_distance():
    x = torch.ones(1, 8)
    rotary = Rotary(8)
    near, far = (rotary(x, 0) * rotary(x, 1)).sum(), (rotary(x, 0) * rotary(x, 3)).sum()
    assert abs(near - far) > 0.1


def test_rotary_refuses_an_odd_width():
    with pytest.raises(ValueError, match="rotary positions rotate pairs; d_head=5 is odd"):
        Rotary(5)


def test_groups_of_distances_by_hand():
    """Eight groups up to 16: 0 to 3 alone; then a factor of 4 in four groups, of sqrt 2 each."""
    back = -torch.arange(20)
    alone, grown = [0, 1, 2, 3], [4, 4, 5, 5, 6, 6, 6, 6] + [7] * 8
    assert bucket(back, 8, 16, both_ways=False).tolist() == alone + grown
    assert bucket(torch.arange(1, 9), 8, 16, both_ways=False).tolist() == [0] * 8
    both = bucket(torch.arange(-5, 6), 8, 16, both_ways=True).tolist()
    assert both == [2, 2, 2, 2, 1, 0, 5, 6, 6, 6, 6]  # of four groups each, 0 and 1 are alone


def test_a_bias_is_the_number_of_the_group():
    bias = RelativeBias(n_heads=2, n_buckets=8, farthest=16, both_ways=False)
    with torch.no_grad():
        bias.weight.copy_(torch.arange(16.0).view(8, 2))
    found = bias.of_all(30)
    assert found.shape == (1, 2, 30, 30)
    for q, k in ((0, 0), (5, 5), (9, 4), (29, 0), (3, 7), (29, 13)):
        group = bucket(torch.tensor(k - q), 8, 16, both_ways=False)
        assert found[0, :, q, k].tolist() == bias.weight[group].tolist()
    assert list(bias.state_dict()) == ["weight"]


def test_a_bias_of_the_newest_places_is_that_of_the_last_rows():
    """Slots in any order; hypotheses have the same places."""
    torch.manual_seed(0)
    bias = RelativeBias(n_heads=2, n_buckets=8, farthest=16, both_ways=False)
    places = torch.tensor([[0, 1, 2, 2, 3, 3], [0, 0, 1, 2, 3, 3]])
    whole = bias.of_all(4)[0]
    for t, rows in ((1, 1), (2, 6)):
        newest = torch.arange(4 - t, 4).expand(2, t)
        found = bias.of_newest(3, newest, places)
        assert found.shape == (2, 2, rows, 6)
        for b in range(2):
            for row in range(rows):
                expected = whole[:, 4 - t + row % t][:, places[b]]
                assert torch.equal(found[b, :, row], expected)


@pytest.mark.parametrize("make", [Sinusoidal, lambda d: LearnedPositions(d, 9), Rotary])
def test_places_of_each_token_are_those_of_a_sequence_that_begins_there(make):
    torch.manual_seed(0)
    module, x = make(4), torch.randn(2, 3, 2, 4)
    for starts in ([0, 5], [3, 1]):
        places = torch.tensor(starts)[:, None] + torch.arange(2)
        expected = torch.stack([module(row, start) for row, start in zip(x, starts, strict=True)])
        torch.testing.assert_close(module(x, places), expected)
    if isinstance(module, LearnedPositions):
        with pytest.raises(DataError, match="position 10 is beyond the 9"):
            module(x, torch.tensor([[0, 1], [8, 9]]))

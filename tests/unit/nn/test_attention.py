"""Multi-head attention as modules: what they are equivariant to, and step against forward."""

import pytest
import torch

from headway.nn import masks
from headway.nn.attention import CrossAttention, SelfAttention
from headway.nn.decoding import KVCache
from headway.nn.positions import Rotary, Sinusoidal
from headway.nn.scores import SCORES, make_score


def test_self_attention_without_positions_is_permutation_equivariant():
    torch.manual_seed(0)
    attention, x = SelfAttention(16, 4, 4).eval(), torch.randn(2, 7, 16)
    order = torch.randperm(7)
    torch.testing.assert_close(attention(x[:, order]), attention(x)[:, order])


@pytest.mark.parametrize("kind", ["sinusoidal", "rotary", "causal"])
def test_order_is_told_by_positions_or_by_the_causal_mask(kind):
    torch.manual_seed(0)
    attention = SelfAttention(16, 4, 4, rotary=Rotary(4) if kind == "rotary" else None).eval()
    mask = masks.causal(7, 7) if kind == "causal" else None
    place = Sinusoidal(16) if kind == "sinusoidal" else lambda x: x
    x, order = torch.randn(2, 7, 16), torch.tensor([3, 1, 0, 6, 5, 2, 4])
    moved, still = attention(place(x[:, order]), mask), attention(place(x), mask)[:, order]
    assert (moved - still).abs().max() > 1e-2


def test_cross_attention_does_not_know_the_order_of_its_memory():
    torch.manual_seed(0)
    attention = CrossAttention(16, 4, 4).eval()
    x, memory = torch.randn(2, 3, 16), torch.randn(2, 6, 16)
    valid = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])
    order = torch.randperm(6)
    torch.testing.assert_close(
        attention(x, *attention.project(memory), masks.padding(valid)),
        attention(x, *attention.project(memory[:, order]), masks.padding(valid[:, order])),
    )


HEADS = [name for name, spec in SCORES.items() if not spec.unfit_in_heads]
"""Scores that have a meaning in heads."""


@pytest.mark.parametrize("rotary", [False, True])
@pytest.mark.parametrize("d_value", [None, 3])
@pytest.mark.parametrize("score", HEADS)
def test_stepping_is_the_causal_pass(rotary, d_value, score):
    torch.manual_seed(0)
    turns, part = Rotary(4) if rotary else None, make_score(score, 4, 2)
    attention = SelfAttention(12, 2, 4, d_value, rotary=turns, score=part).eval()
    x = torch.randn(3, 20, 12)  # longer than a new cache
    whole = attention(x, masks.causal(20, 20))
    past = KVCache([attention.widths], 3, x, capacity=4)
    pieces = []
    for start, stop in [(0, 1), (1, 2), (2, 7), (7, 8), (8, 20)]:
        mask = past.allocate(1, stop - start)
        pieces.append(attention.step(x[:, None, start:stop], past, 0, mask)[:, 0])
    torch.testing.assert_close(torch.cat(pieces, dim=1), whole)


@pytest.mark.parametrize("score", HEADS)
def test_cross_step_folds_the_beams(score):
    torch.manual_seed(0)
    made = make_score(score, 4, 2)
    attention = CrossAttention(12, 2, 4, d_value=5, score=made).eval()
    x, memory = torch.randn(2, 3, 2, 12), torch.randn(2, 6, 12)
    key, value = attention.project(memory)
    assert key.shape == (2, 2, 6, made.prepared_width(4))
    assert value.shape == (2, 2, 6, 5)
    mask = masks.padding(torch.tensor([[True] * 6, [True] * 2 + [False] * 4]))
    stepped = attention.step(x, key, value, mask)
    for n in range(3):
        torch.testing.assert_close(stepped[:, n], attention(x[:, n], key, value, mask))


def test_weights_are_dropped_in_training_only():
    torch.manual_seed(0)
    attention, x = SelfAttention(8, 2, 4, dropout=0.5), torch.randn(1, 5, 8)
    assert not torch.equal(attention.train()(x), attention(x))
    assert torch.equal(attention.eval()(x), attention(x))


def test_packed_projections_start_within_their_own_bounds():
    """Glorot's bound sqrt(6 / (in + out)) of each square part, not of the packed matrix."""
    torch.manual_seed(0)
    attention = SelfAttention(64, 4, 16)
    bound = (6 / 128) ** 0.5
    for part in attention.qkv.weight.split(64):
        assert 0.95 * bound < part.abs().max() <= bound
    assert not attention.qkv.bias.any()


def test_without_biases():
    assert [name for name, _ in SelfAttention(8, 2, 4, bias=False).named_parameters()] == [
        "qkv.weight",
        "out.weight",
    ]

"""Attention and layers equal those of `torch.nn` with copied weights, gradients included.

PyTorch's masks say what is forbidden, ours what is allowed. Its packed projection has the rows of
queries, keys and values one after another, as ours; cross-attention keeps the queries apart.
"""

import pytest
import torch

from headway.nn import masks
from headway.nn.attention import CrossAttention, SelfAttention
from headway.nn.layers import RESIDUALS, DecoderLayer, EncoderLayer, FeedForward, make_norm

D, H, E, F, B, T, S = 16, 4, 4, 24, 3, 6, 5


@torch.no_grad()
def copy_self(theirs, ours):
    ours.qkv.weight.copy_(theirs.in_proj_weight)
    ours.qkv.bias.copy_(theirs.in_proj_bias)
    ours.out.load_state_dict(theirs.out_proj.state_dict())


@torch.no_grad()
def copy_cross(theirs, ours):
    ours.query.weight.copy_(theirs.in_proj_weight[:D])
    ours.query.bias.copy_(theirs.in_proj_bias[:D])
    ours.kv.weight.copy_(theirs.in_proj_weight[D:])
    ours.kv.bias.copy_(theirs.in_proj_bias[D:])
    ours.out.load_state_dict(theirs.out_proj.state_dict())


def randomised(module):
    """Biases and gains start at 0 and 1, where a mix-up would not show."""
    torch.manual_seed(1)
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return module


def lengths_mask(lengths, width):
    return torch.arange(width)[None] < torch.tensor(lengths)[:, None]


def multihead():
    return randomised(torch.nn.MultiheadAttention(D, H, batch_first=True))


@pytest.mark.parametrize("kind", ["none", "padding", "causal", "both"])
def test_self_attention(kind):
    theirs, ours = multihead(), SelfAttention(D, H, E)
    copy_self(theirs, ours)
    x, valid = torch.randn(B, T, D), lengths_mask([6, 4, 1], T)
    padding = masks.padding(valid) if kind in ("padding", "both") else None
    causal = masks.causal(T, T) if kind in ("causal", "both") else None
    expected, weights = theirs(
        x,
        x,
        x,
        key_padding_mask=~valid if padding is not None else None,
        attn_mask=~causal[0, 0] if causal is not None else None,
        average_attn_weights=False,
    )
    assert weights.shape == (B, H, T, T)
    given = [mask for mask in (padding, causal) if mask is not None]
    mask = torch.stack([m.expand(B, 1, T, T) for m in given]).all(0) if given else None
    torch.testing.assert_close(ours(x, mask), expected)


def test_self_attention_with_a_bias_on_the_scores():
    theirs, ours = multihead(), SelfAttention(D, H, E)
    copy_self(theirs, ours)
    x, bias = torch.randn(B, T, D), torch.randn(B, H, T, T)
    expected, _ = theirs(x, x, x, attn_mask=bias.flatten(0, 1), need_weights=False)
    torch.testing.assert_close(ours(x, bias=bias), expected)


@pytest.mark.parametrize("masked", [False, True])
def test_cross_attention(masked):
    theirs, ours = multihead(), CrossAttention(D, H, E)
    copy_cross(theirs, ours)
    x, memory, valid = torch.randn(B, T, D), torch.randn(B, S, D), lengths_mask([5, 2, 1], S)
    expected, _ = theirs(x, memory, memory, key_padding_mask=~valid if masked else None)
    mask = masks.padding(valid) if masked else None
    torch.testing.assert_close(ours(x, *ours.project(memory), mask), expected)


def feed_forward(activation):
    return FeedForward(D, F, activation, gated=False, bias=True, dropout=0.0)


def residual(norm_first):
    kind = RESIDUALS["pre" if norm_first else "post"]
    return lambda: kind(make_norm("layer", D, 1e-5), 0.0)


def copy_feed(theirs, ours):
    ours.inner.load_state_dict(theirs.linear1.state_dict())
    ours.outer.load_state_dict(theirs.linear2.state_dict())


def check_gradients(ours, theirs, pairs):
    """Of a sum of squares, for weights that have the same shape on both sides."""
    ours.square().sum().backward()
    theirs.square().sum().backward()
    for one, other in pairs:
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_encoder_layer(norm_first, activation):
    theirs = randomised(
        torch.nn.TransformerEncoderLayer(
            D, H, F, 0.0, activation, batch_first=True, norm_first=norm_first
        )
    )
    ours = EncoderLayer(SelfAttention(D, H, E), feed_forward(activation), residual(norm_first))
    copy_self(theirs.self_attn, ours.attention)
    copy_feed(theirs, ours.feed)
    ours.attention_residual.norm.load_state_dict(theirs.norm1.state_dict())
    ours.feed_residual.norm.load_state_dict(theirs.norm2.state_dict())
    x, valid = torch.randn(B, T, D), lengths_mask([6, 4, 1], T)
    expected = theirs(x, src_key_padding_mask=~valid)
    found = ours(x, masks.padding(valid))
    torch.testing.assert_close(found[valid], expected[valid])
    check_gradients(
        found[valid],
        expected[valid],
        [
            (ours.attention.qkv.weight, theirs.self_attn.in_proj_weight),
            (ours.feed.inner.weight, theirs.linear1.weight),
            (ours.feed_residual.norm.weight, theirs.norm2.weight),
        ],
    )


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_decoder_layer(norm_first, activation):
    theirs = randomised(
        torch.nn.TransformerDecoderLayer(
            D, H, F, 0.0, activation, batch_first=True, norm_first=norm_first
        )
    )
    ours = DecoderLayer(
        SelfAttention(D, H, E),
        CrossAttention(D, H, E),
        feed_forward(activation),
        residual(norm_first),
    )
    copy_self(theirs.self_attn, ours.attention)
    copy_cross(theirs.multihead_attn, ours.cross)
    copy_feed(theirs, ours.feed)
    ours.attention_residual.norm.load_state_dict(theirs.norm1.state_dict())
    ours.cross_residual.norm.load_state_dict(theirs.norm2.state_dict())
    ours.feed_residual.norm.load_state_dict(theirs.norm3.state_dict())
    x, memory, valid = torch.randn(B, T, D), torch.randn(B, S, D), lengths_mask([5, 2, 1], S)
    causal = masks.causal(T, T)
    expected = theirs(x, memory, tgt_mask=~causal[0, 0], memory_key_padding_mask=~valid)
    found = ours(x, memory, causal, masks.padding(valid))
    torch.testing.assert_close(found, expected)
    check_gradients(
        found,
        expected,
        [
            (ours.attention.out.weight, theirs.self_attn.out_proj.weight),
            (ours.cross.out.weight, theirs.multihead_attn.out_proj.weight),
            (ours.feed.outer.weight, theirs.linear2.weight),
            (ours.cross_residual.norm.bias, theirs.norm2.bias),
        ],
    )

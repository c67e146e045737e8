"""Norms, residual connections and feed-forward layers against their formulas."""

import pytest
import torch
from torch.nn.functional import gelu, relu, silu

from headway.nn.layers import ACTIVATIONS, FeedForward, PostNorm, PreNorm, RMSNorm, make_norm


def test_rms_norm_by_hand():
    norm = RMSNorm(2, eps=0.0)
    with torch.no_grad():
        norm.weight.copy_(torch.tensor([1.0, 10.0]))
    # The mean of 3^2 and 4^2 is 12.5.
    expected = torch.tensor([3.0, 40.0]) / 12.5**0.5
    torch.testing.assert_close(norm(torch.tensor([3.0, 4.0])), expected)


def test_rms_norm_is_torchs_and_ignores_scale():
    norm, theirs = RMSNorm(6, eps=1e-3), torch.nn.RMSNorm(6, eps=1e-3)
    x = torch.randn(2, 3, 6)
    torch.testing.assert_close(norm(x), theirs(x))
    torch.testing.assert_close(RMSNorm(6, eps=1e-12)(x), RMSNorm(6, eps=1e-12)(7 * x))


@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_epsilon_is_a_parameter(kind):
    x = torch.tensor([[1e-3, -1e-3]])
    large, small = make_norm(kind, 2, 1.0)(x), make_norm(kind, 2, 1e-12)(x)
    assert large.abs().max() < 2e-3
    torch.testing.assert_close(small.abs(), torch.ones(1, 2), rtol=1e-4, atol=0)


def test_layer_norm_has_mean_zero_and_variance_one():
    x = 5 + 3 * torch.randn(4, 32)
    y = make_norm("layer", 32, 1e-5)(x)
    torch.testing.assert_close(y.mean(-1), torch.zeros(4), atol=1e-5, rtol=0)
    torch.testing.assert_close(y.var(-1, unbiased=False), torch.ones(4), atol=1e-4, rtol=0)


def test_pre_and_post_norm():
    norm, x = torch.nn.LayerNorm(4), torch.randn(2, 3, 4)
    double = lambda y: 2 * y  # noqa: E731
    torch.testing.assert_close(PreNorm(norm, 0.0)(x, double), x + 2 * norm(x))
    torch.testing.assert_close(PostNorm(norm, 0.0)(x, double), norm(3 * x))


@pytest.mark.parametrize("kind", [PreNorm, PostNorm])
def test_the_residual_drops_the_branch_not_the_stream(kind):
    torch.manual_seed(0)
    residual = kind(torch.nn.Identity(), 0.5).train()
    x = torch.full((1000,), 10.0)
    values = residual(x, torch.ones_like)
    assert set(values.tolist()) == {10.0, 12.0}


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("relu", relu),
        ("gelu", gelu),
        ("gelu_tanh", lambda x: gelu(x, approximate="tanh")),
        ("silu", silu),
    ],
)
@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_feed_forward_formulas(name, function, gated, bias):
    torch.manual_seed(0)
    feed, x = FeedForward(4, 6, name, gated, bias, 0.0).eval(), torch.randn(2, 3, 4)
    if bias:
        for linear in (feed.inner, feed.outer, *([feed.gate] if gated else [])):
            torch.nn.init.normal_(linear.bias)
    inner = x @ feed.inner.weight.T + (feed.inner.bias if bias else 0)
    if gated:
        gate = x @ feed.gate.weight.T + (feed.gate.bias if bias else 0)
        inner = function(gate) * inner
    else:
        inner = function(inner)
    expected = inner @ feed.outer.weight.T + (feed.outer.bias if bias else 0)
    torch.testing.assert_close(feed(x), expected)
    assert sum(p.numel() for p in feed.parameters()) == (
        (2 + gated) * 24 + bias * (6 * (1 + gated) + 4)
    )


def test_the_two_gelus_differ_a_little():
    x = torch.linspace(-3, 3, 61)
    difference = (ACTIVATIONS["gelu"](x) - ACTIVATIONS["gelu_tanh"](x)).abs().max()
    assert 1e-5 < difference < 1e-2


def test_feed_forward_is_position_wise():
    feed, x = FeedForward(4, 6, "relu", True, True, 0.0).eval(), torch.randn(1, 5, 4)
    order = torch.tensor([4, 2, 0, 1, 3])
    torch.testing.assert_close(feed(x[:, order]), feed(x)[:, order])
    torch.testing.assert_close(feed(x[:, 2:3]), feed(x)[:, 2:3])


def test_feed_forward_drops_inside_in_training_only():
    torch.manual_seed(0)
    feed, x = FeedForward(4, 64, "relu", False, True, 0.5), torch.randn(1, 5, 4)
    assert not torch.equal(feed.train()(x), feed(x))
    assert torch.equal(feed.eval()(x), feed(x))

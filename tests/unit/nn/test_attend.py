"""Attention itself: by hand, masked, biased, dropped, captured; fused and eager agree."""

import math

import pytest
import torch

from headway.nn import masks
from headway.nn.attend import FEW, attend, masked_softmax
from headway.nn.capture import capture
from headway.nn.scores import Cosine, Dot, General


def formula(query, key, value, mask=None, bias=None):
    """softmax(Q K^T / sqrt(d) + bias) V in double precision, row by row."""
    scores = query.double() @ key.double().mT / math.sqrt(query.size(-1))
    if bias is not None:
        scores = scores + bias.double()
    allowed = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
    allowed = allowed.expand_as(scores)
    exponentials = torch.where(allowed, scores.exp(), 0.0)
    total = exponentials.sum(-1, keepdim=True)
    weights = torch.where(total > 0, exponentials / total.clamp(min=1e-300), 0.0)
    return (weights @ value.double()).float()


def inputs(d_value=4, Q=3, K=5, seed=0):
    draw = torch.Generator().manual_seed(seed)
    make = lambda *shape: torch.randn(*shape, generator=draw)  # noqa: E731
    return make(2, 2, Q, 4), make(2, 2, K, 4), make(2, 2, K, d_value)


def looked_at(*arguments, **keywords):
    """The same through the eager path, and the weights."""
    module = torch.nn.Module()
    with capture(module) as maps:
        output = attend(*arguments, owner=module, **keywords)
    return output, maps[""]


def some_mask():
    mask = torch.rand(2, 1, 3, 5, generator=torch.Generator().manual_seed(1)) < 0.5
    mask[..., 0] = True
    mask[1, :, 1] = False  # one query that may see nothing
    return mask


def test_by_hand():
    """Scores ln 3 and 0 give weights 3/4 and 1/4."""
    query = torch.tensor([[[[2.0 * math.log(3), 0.0, 0.0, 0.0]]]])
    key = torch.tensor([[[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]]])
    value = torch.tensor([[[[4.0, 0.0, 0.0, 0.0], [0.0, 8.0, 0.0, 0.0]]]])
    torch.testing.assert_close(attend(query, key, value), torch.tensor([[[[3.0, 2.0, 0.0, 0.0]]]]))


def test_one_key_is_its_value():
    query, key, value = inputs(K=1)
    torch.testing.assert_close(attend(query, key, value), value.expand(2, 2, 3, 4))


@pytest.mark.parametrize("d_value", [4, 7])
@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("with_mask", [False, True])
def test_fused_is_eager_is_the_formula(d_value, with_bias, with_mask):
    query, key, value = inputs(d_value)
    bias = torch.randn(1, 2, 3, 5) if with_bias else None
    mask = some_mask() if with_mask else None
    usual = attend(query, key, value, mask, bias)
    eager, weights = looked_at(query, key, value, mask, bias)
    assert usual.shape == (2, 2, 3, d_value)
    torch.testing.assert_close(usual, formula(query, key, value, mask, bias))
    torch.testing.assert_close(eager, usual)
    torch.testing.assert_close(weights @ value, eager)
    expected = torch.ones(2, 2, 3)
    if with_mask:
        expected[1, :, 1] = 0
        assert (weights[~mask.expand_as(weights)] == 0).all()
    torch.testing.assert_close(weights.sum(-1), expected)


@pytest.mark.parametrize("queries", [3, FEW + 1])
@pytest.mark.parametrize("make", [Dot, Cosine, lambda: General(4, 2)])
def test_every_product_is_fused_as_it_is_eager(make, queries):
    """Teacher-forced with a mask of its own, and in a step with a shared one."""
    torch.manual_seed(1)
    score, (query, key, value) = make(), inputs(Q=queries)
    prepared, mask = score.prepare(key), some_mask()[:, :, :1]
    eager, weights = looked_at(query, prepared, value, mask, score=score)
    raw = score.score(query, prepared).masked_fill(~mask, -torch.inf)
    torch.testing.assert_close(weights, raw.softmax(-1))
    torch.testing.assert_close(attend(query, prepared, value, mask, score=score), eager)
    with torch.inference_mode():
        shared = masks.Shared(mask)
        torch.testing.assert_close(attend(query, prepared, value, shared, score=score), eager)


@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("d_value", [4, 7])
def test_gradients_of_fused_and_eager_agree(d_value, with_bias):
    gradients = []
    for run in (attend, lambda *given: looked_at(*given)[0]):
        tensors = [t.requires_grad_() for t in inputs(d_value)]
        bias = torch.linspace(-1, 1, 30).view(1, 2, 3, 5).requires_grad_() if with_bias else None
        run(*tensors, some_mask(), bias).square().sum().backward()
        gradients.append([t.grad for t in (*tensors, *([bias] if with_bias else []))])
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("looking", [False, True])
@pytest.mark.parametrize("d_value", [4, 7])
@pytest.mark.parametrize("with_bias", [False, True])
def test_a_fully_masked_row_gives_zeros_and_sound_gradients(looking, d_value, with_bias):
    tensors = [t.requires_grad_() for t in inputs(d_value)]
    bias = torch.zeros(1, 2, 3, 5, requires_grad=True) if with_bias else None
    run = (lambda *given: looked_at(*given)[0]) if looking else attend
    output = run(*tensors, some_mask(), bias)
    assert (output[1, :, 1] == 0).all()
    assert output[1, :, 0].abs().sum() > 0
    output.sum().backward()
    for tensor in (*tensors, *([bias] if with_bias else [])):
        assert tensor.grad.isfinite().all()
    assert (tensors[0].grad[1, :, 1] == 0).all()


def test_everything_masked():
    query, key, value = inputs()
    nothing = torch.zeros(1, 1, 3, 5, dtype=torch.bool)
    assert (attend(query, key, value, nothing) == 0).all()
    assert (looked_at(query, key, value, nothing)[0] == 0).all()


def test_masked_softmax_by_hand():
    scores = torch.tensor([[0.0, math.log(3), 50.0], [1.0, 2.0, 3.0]])
    mask = torch.tensor([[True, True, False], [False, False, False]])
    assert masked_softmax(scores, mask).tolist() == [
        pytest.approx([0.25, 0.75, 0.0]),
        [0.0, 0.0, 0.0],
    ]
    torch.testing.assert_close(masked_softmax(scores, None), scores.softmax(-1))


def test_a_masked_key_changes_nothing():
    query, key, value = inputs()
    mask = masks.padding(torch.tensor([[True, True, True, False, False]] * 2))
    before = attend(query, key, value, mask)
    key, value = key.clone(), value.clone()
    key[:, :, 3:], value[:, :, 3:] = 1e4, -1e4
    torch.testing.assert_close(attend(query, key, value, mask), before)


def test_large_scores_stay_finite():
    query, key, value = inputs()
    for output in (
        attend(200 * query, 200 * key, value),
        looked_at(200 * query, 200 * key, value)[0],
    ):
        assert output.isfinite().all()


def test_dropping_weights_keeps_the_expectation():
    query, key, value = inputs()
    torch.manual_seed(0)
    mean = torch.stack([attend(query, key, value, dropout=0.3) for _ in range(3000)]).mean(0)
    torch.testing.assert_close(mean, attend(query, key, value), atol=0.06, rtol=0)


def test_dropping_weights_drops_whole_weights():
    """With the identity as values the output is the weights: zero, or scaled by 1 / (1 - rate)."""
    query, key, _ = inputs()
    identity = torch.eye(5).expand(2, 2, 5, 5)
    kept = attend(query, key, identity)
    torch.manual_seed(3)
    dropped = attend(query, key, identity, dropout=0.5)
    ratios = (dropped / kept).flatten()
    assert set(ratios.round(decimals=3).tolist()) == {0.0, 2.0}


def test_dot_products_vary_with_the_width_and_scaling_cures_it():
    torch.manual_seed(0)
    spread = {}
    for d in (16, 64, 256, 1024):
        query, key = torch.randn(4000, d), torch.randn(4000, d)
        products = (query * key).sum(-1)
        spread[d] = products.var().item()
        assert spread[d] == pytest.approx(d, rel=0.15)
        assert (products / math.sqrt(d)).var().item() == pytest.approx(1.0, rel=0.15)
    assert spread[1024] > 30 * spread[16]


def test_attend_scales_by_the_width():
    """Unscaled scores of width 1024 would put all weight on one key; scaled ones spread it."""
    torch.manual_seed(0)
    query, key = torch.randn(1, 1, 64, 1024), torch.randn(1, 1, 64, 1024)
    _, weights = looked_at(query, key, key)
    entropy = -(weights * weights.clamp(min=1e-30).log()).sum(-1).mean()
    unscaled = (query @ key.mT).softmax(-1)
    without = -(unscaled * unscaled.clamp(min=1e-30).log()).sum(-1).mean()
    assert entropy > 3.0 > 0.5 > without


@pytest.mark.parametrize("queries", [1, 5, FEW, FEW + 1])
@pytest.mark.parametrize("hidden", [False, True])
@torch.inference_mode()
def test_a_mask_that_layers_share_masks_the_same(queries, hidden):
    """Few queries take plain products; a query that sees nothing takes the way of all others."""
    torch.manual_seed(queries)
    query = torch.randn(3, 2, queries, 4)
    key, value = (torch.randn(3, 2, 9, 4)[:, :, :6] for _ in range(2))  # a part of a buffer
    mask = torch.rand(3, 1, queries, 6) > 0.5
    mask[..., 0] = True
    if hidden:
        mask[1, 0, 0] = False
    shared = masks.Shared(mask)
    for bias in (None, torch.randn(1, 2, queries, 6), torch.randn(3, 2, 1, 6)):
        expected = attend(query, key, value, mask, bias)
        for _ in range(2):  # a second layer finds what the first has made
            torch.testing.assert_close(attend(query, key, value, shared, bias), expected)
        torch.testing.assert_close(expected, formula(query, key, value, mask, bias))
    assert shared.is_open is not hidden

"""The chunked cross-entropy against PyTorch's, in value and gradients, at every edge."""

import math

import pytest
import torch
from torch.nn.functional import cross_entropy, linear

from headway.nn.cross_entropy import CHUNK, linear_cross_entropy, linear_log_prob


def make(n, V=11, d=6, dtype=torch.float64, spread=1.0, bias=True, seed=0):
    draw = torch.Generator().manual_seed(seed)
    hidden = torch.randn(n, d, generator=draw, dtype=dtype) * spread
    weight = torch.randn(V, d, generator=draw, dtype=dtype)
    offset = torch.randn(V, generator=draw, dtype=dtype) if bias else None
    targets = torch.randint(V, (n,), generator=draw)
    return [t if t is None else t.requires_grad_() for t in (hidden, weight, offset)], targets


def both(given, targets, smoothing, factor=1.0):
    """Value and gradients: ours, PyTorch's."""
    results = []
    for ours in (True, False):
        tensors = [None if t is None else t.detach().clone().requires_grad_() for t in given]
        if ours:
            loss = linear_cross_entropy(*tensors, targets, smoothing)
        else:
            logits = linear(*tensors)
            loss = cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)
        (factor * loss).backward()
        results.append([loss.detach(), *(t.grad for t in tensors if t is not None)])
    return results


def test_by_hand():
    """Logits 0 and ln 3: probabilities 1/4 and 3/4."""
    hidden, weight = torch.tensor([[1.0]]), torch.tensor([[0.0], [math.log(3)]])
    assert linear_cross_entropy(hidden, weight, None, torch.tensor([0])).item() == pytest.approx(
        math.log(4)
    )
    smoothed = linear_cross_entropy(hidden, weight, None, torch.tensor([1]), 0.2).item()
    assert smoothed == pytest.approx(-(0.9 * math.log(0.75) + 0.1 * math.log(0.25)))


@pytest.mark.parametrize("n", [1, 2, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 3])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("bias", [True, False])
def test_value_and_gradients_over_chunk_borders(n, smoothing, bias):
    given, targets = make(n, bias=bias)
    ours, theirs = both(given, targets, smoothing, factor=0.37)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_float32(smoothing):
    given, targets = make(700, V=50, dtype=torch.float32)
    ours, theirs = both(given, targets, smoothing)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("bias", [True, False])
def test_numerical_gradients(smoothing, bias):
    given, targets = make(4, V=5, d=3, bias=bias)
    tensors = [t for t in given if t is not None]

    def loss(*changed):
        full = [*changed] if bias else [*changed, None]
        return linear_cross_entropy(*full, targets, smoothing)

    assert torch.autograd.gradcheck(loss, tensors)


def test_nothing_costs_nothing():
    (hidden, weight, bias), targets = make(0)
    loss = linear_cross_entropy(hidden, weight, bias, targets, 0.1)
    loss.backward()
    assert loss.item() == 0.0
    assert hidden.grad.shape == (0, 6)
    assert not weight.grad.any()
    assert not bias.grad.any()
    assert linear_log_prob(hidden, weight, bias, targets).shape == (0,)


@pytest.mark.parametrize("spread", [1e2, 1e4])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_logits_of_large_magnitude(spread, smoothing):
    given, targets = make(60, dtype=torch.float32, spread=spread)
    ours, theirs = both(given, targets, smoothing)
    for one, other in zip(ours, theirs, strict=True):
        assert one.isfinite().all()
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-2)


def test_a_vocabulary_of_one_word():
    (hidden, weight, bias), _ = make(3, V=1)
    loss = linear_cross_entropy(hidden, weight, bias, torch.zeros(3, dtype=torch.long), 0.1)
    assert loss.item() == pytest.approx(0.0, abs=1e-12)


def test_gradients_only_where_they_are_wanted():
    (hidden, weight, bias), targets = make(5)
    linear_cross_entropy(hidden, weight.detach(), bias.detach(), targets).backward()
    _, theirs = both((hidden, weight, bias), targets, 0.0)
    torch.testing.assert_close(hidden.grad, theirs[1], rtol=1e-9, atol=1e-9)
    assert weight.grad is None


def test_the_loss_needs_no_gradient_at_all():
    (hidden, weight, bias), targets = make(5)
    with torch.inference_mode():
        loss = linear_cross_entropy(hidden.clone(), weight, bias, targets, 0.1)
    expected = cross_entropy(
        linear(hidden, weight, bias), targets, reduction="sum", label_smoothing=0.1
    )
    torch.testing.assert_close(loss, expected.detach(), rtol=1e-9, atol=1e-9)


def test_shared_weight_gets_both_gradients():
    """The output weight that is also the embedding: gradients add up."""
    weight = torch.randn(7, 4, dtype=torch.float64, requires_grad=True)
    tokens, targets = torch.tensor([1, 5, 1]), torch.tensor([2, 0, 6])
    linear_cross_entropy(weight[tokens], weight, None, targets, 0.1).backward()
    ours, weight.grad = weight.grad, None
    cross_entropy(
        weight[tokens] @ weight.T, targets, reduction="sum", label_smoothing=0.1
    ).backward()
    torch.testing.assert_close(ours, weight.grad, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", [1, CHUNK, CHUNK + 1])
def test_log_probs(n):
    (hidden, weight, bias), targets = make(n)
    expected = linear(hidden, weight, bias).log_softmax(-1)[torch.arange(n), targets]
    torch.testing.assert_close(linear_log_prob(hidden, weight, bias, targets), expected)


def test_half_precision_sums_in_single():
    (hidden, weight, bias), targets = make(40, dtype=torch.bfloat16, spread=0.3)
    loss = linear_cross_entropy(hidden, weight, bias, targets, 0.1)
    assert loss.dtype == torch.float32
    exact = cross_entropy(
        linear(hidden.double(), weight.double(), bias.double()),
        targets,
        reduction="sum",
        label_smoothing=0.1,
    )
    assert loss.item() == pytest.approx(exact.item(), rel=0.02)
    loss.backward()
    assert hidden.grad.dtype == torch.bfloat16

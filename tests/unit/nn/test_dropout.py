"""Dropout: its rate, its expectation, its seed, and silence in evaluation."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headway.nn.dropout import Dropout, keep_mask, scale


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.9])
def test_rate_and_expectation(rate):
    torch.manual_seed(0)
    n = 200_000
    x = torch.ones(n)
    dropped = Dropout(rate).train()(x)
    deviation = (rate * (1 - rate) / n) ** 0.5
    assert (dropped == 0).float().mean().item() == pytest.approx(rate, abs=5 * deviation)
    assert dropped.mean().item() == pytest.approx(1.0, abs=5 * deviation / (1 - rate))
    kept = dropped[dropped != 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / (1 - rate)), rtol=1e-3, atol=0)


@given(st.floats(0.0, 0.99))
def test_scale_undoes_the_rate(rate):
    """The scale is that of a rate rounded to 1/65536, never further from it."""
    assert 1 / scale(rate) == pytest.approx(1 - rate, abs=1 / 65536)


@pytest.mark.parametrize("shape", [(0,), (1,), (3,), (5, 7), (2, 3, 4, 5)])
def test_masks_of_any_shape(shape):
    mask = keep_mask(torch.Size(shape), 0.5, torch.device("cpu"))
    assert mask.shape == shape
    assert mask.dtype == torch.bool


def test_every_element_is_decided_on_its_own():
    """Neighbours share a random word; over many draws they must not agree more than by chance."""
    torch.manual_seed(0)
    masks = torch.stack([keep_mask(torch.Size([8]), 0.5, torch.device("cpu")) for _ in range(8000)])
    correlation = torch.corrcoef(masks.float().T)
    off_diagonal = correlation - torch.eye(8)
    assert off_diagonal.abs().max() < 0.06
    assert (masks.float().mean(0) - 0.5).abs().max() < 0.03


def test_same_seed_same_mask_next_draw_another():
    dropout, x = Dropout(0.5).train(), torch.ones(1000)
    torch.manual_seed(7)
    first, second = dropout(x), dropout(x)
    torch.manual_seed(7)
    again = dropout(x)
    assert torch.equal(first, again)
    assert not torch.equal(first, second)
    torch.manual_seed(8)
    assert not torch.equal(dropout(x), first)


def test_evaluation_is_the_identity_and_draws_nothing():
    dropout, x = Dropout(0.5).eval(), torch.randn(100)
    before = torch.get_rng_state()
    assert torch.equal(dropout(x), x)
    assert torch.equal(torch.get_rng_state(), before)


def test_rate_zero_is_the_identity_in_training():
    x = torch.randn(100)
    before = torch.get_rng_state()
    assert torch.equal(Dropout(0.0).train()(x), x)
    assert torch.equal(torch.get_rng_state(), before)


def test_gradient_passes_where_the_element_was_kept():
    torch.manual_seed(0)
    x = torch.randn(1000, requires_grad=True)
    dropped = Dropout(0.25).train()(x)
    dropped.sum().backward()
    torch.testing.assert_close(x.grad * x.detach(), dropped.detach())

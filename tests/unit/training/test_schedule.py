"""Learning rates by hand."""

import math

import pytest

from headway.training.schedule import learning_rate

KINDS = ["constant", "inverse_sqrt", "linear", "cosine"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_warm_up_is_a_line_to_the_peak(kind):
    rates = [learning_rate(kind, 1.0, step, 4, 100) for step in range(1, 5)]
    assert rates == pytest.approx([0.25, 0.5, 0.75, 1.0])


@pytest.mark.parametrize("kind", KINDS)
def test_without_warm_up_the_first_update_is_at_or_just_below_the_peak(kind):
    assert 0.98 <= learning_rate(kind, 1.0, 1, 0, 100) <= 1.0


def test_each_kind_after_the_warm_up():
    at = {kind: [learning_rate(kind, 2.0, s, 10, 110) for s in (40, 60, 110)] for kind in KINDS}
    assert at["constant"] == [2.0, 2.0, 2.0]
    assert at["inverse_sqrt"] == pytest.approx([1.0, 2 / math.sqrt(6), 2 / math.sqrt(11)])
    assert at["linear"] == pytest.approx([1.4, 1.0, 0.0])
    assert at["cosine"] == pytest.approx([1 + math.cos(0.3 * math.pi), 1.0, 0.0], abs=1e-12)


def test_inverse_square_root_is_the_papers():
    """d^-0.5 min(step^-0.5, step warmup^-1.5), with the peak 1 / sqrt(d warmup)."""
    d, warmup = 512, 4000
    peak = 1 / math.sqrt(d * warmup)
    for step in (1, 100, 4000, 4001, 100_000):
        paper = d**-0.5 * min(step**-0.5, step * warmup**-1.5)
        assert learning_rate("inverse_sqrt", peak, step, warmup, 10**6) == pytest.approx(paper)


@pytest.mark.parametrize("kind", ["linear", "cosine"])
def test_beyond_the_end_it_stays_at_zero(kind):
    assert learning_rate(kind, 1.0, 150, 10, 100) == pytest.approx(0.0, abs=1e-12)
    assert learning_rate(kind, 1.0, 5, 5, 5) == 1.0  # nothing but warm-up

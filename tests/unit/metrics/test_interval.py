import numpy as np
import pytest

from headway.metrics.interval import bootstrap, wilson


def mean_of(sums):
    return float(sums[0] / sums[1])


def test_wilson_by_hand():
    # p = 0.5, n = 100, z = 1.96: centre 0.5, half width 1.96 * sqrt(0.0025 + 0.000096) / 1.0384
    low, high = wilson(50, 100)
    assert low == pytest.approx(0.4038, abs=1e-4)
    assert high == pytest.approx(0.5962, abs=1e-4)


def test_wilson_never_claims_certainty():
    low, high = wilson(1000, 1000)
    assert high == 1.0
    assert low == pytest.approx(1 / (1 + 1.96**2 / 1000), abs=1e-5)
    assert wilson(0, 1000) == pytest.approx((0.0, 1 - low))


def test_bootstrap_of_a_constant_is_that_constant():
    rows = np.tile([3.0, 4.0], (20, 1))
    assert bootstrap(rows, mean_of, resamples=50) == (0.75, 0.75)


def test_bootstrap_comes_near_the_normal_interval_of_a_share():
    rows = np.ones((1000, 2))
    rows[:300, 0] = 0  # share 0.7
    low, high = bootstrap(rows, mean_of, resamples=2000)
    half = 1.96 * np.sqrt(0.7 * 0.3 / 1000)
    assert low == pytest.approx(0.7 - half, abs=0.004)
    assert high == pytest.approx(0.7 + half, abs=0.004)


def test_bootstrap_follows_its_seed():
    rows = np.random.default_rng(0).random((30, 2))
    assert bootstrap(rows, mean_of, 100, seed=1) == bootstrap(rows, mean_of, 100, seed=1)
    assert bootstrap(rows, mean_of, 100, seed=1) != bootstrap(rows, mean_of, 100, seed=2)


def test_one_sentence_one_resample():
    assert bootstrap(np.array([[1.0, 2.0]]), mean_of, resamples=1) == (0.5, 0.5)

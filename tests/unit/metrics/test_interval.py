import numpy as np
import pytest

from headway.metrics.interval import block_bootstrap, bootstrap, t_factor, wilson


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


def test_a_test_set_without_a_score_is_left_out():
    rows = np.array([[1.0, 1.0], [0.0, 0.0]])  # a quarter of the test sets has two zeros

    def mean_or_nan(sums):
        return float(sums[0] / sums[1]) if sums[1] else float("nan")

    assert bootstrap(rows, mean_or_nan, resamples=50) == (1.0, 1.0)


def total_mean(sums):
    return float(sums[:, 0].sum() / sums[:, 1].sum())


def test_blocks_of_one_row_are_the_ordinary_bootstrap():
    rows = np.ones((1000, 2))
    rows[:300, 0] = 0
    low, high = block_bootstrap([rows], [1], total_mean, resamples=2000)
    assert (low, high) == pytest.approx(bootstrap(rows, mean_of, resamples=2000), abs=0.003)


def test_the_block_as_long_as_its_group_has_no_spread():
    rows = np.stack([np.arange(10.0), np.ones(10)], axis=1)
    assert block_bootstrap([rows], [10], total_mean, 50) == (4.5, 4.5)
    assert block_bootstrap([rows], [99], total_mean, 50) == (4.5, 4.5)


def test_every_test_set_is_as_large_as_the_whole():
    rows = np.stack([np.arange(10.0), np.ones(10)], axis=1)
    sizes = set()

    def size(sums):
        sizes.add(tuple(sums[:, 1]))
        return 0.0

    block_bootstrap([rows, rows[:7]], [4, 3], size, resamples=20)
    assert sizes == {(10.0, 7.0)}


def test_blocks_are_of_consecutive_rows_around_the_end():
    rows = np.array([[1.0], [10.0], [100.0], [1000.0]])
    totals = set()
    block_bootstrap([rows], [2], lambda sums: totals.add(sums[0, 0]) or 0.0, resamples=200)
    pairs = [11.0, 110.0, 1100.0, 1001.0]
    assert totals == {a + b for a in pairs for b in pairs}


def test_dependent_rows_need_a_wider_interval():
    steps = np.random.default_rng(3).normal(size=2000)
    smooth = np.convolve(steps, np.ones(50) / 50**0.5, mode="valid")  # 50 rows share a step
    rows = np.stack([smooth, np.ones_like(smooth)], axis=1)
    low, high = bootstrap(rows, mean_of, resamples=400)
    wide_low, wide_high = block_bootstrap([rows], [100], total_mean, resamples=400)
    # The mean of n values that average 50 steps has about sqrt(50) times the deviation.
    assert 4 < (wide_high - wide_low) / (high - low) < 8


@pytest.mark.parametrize(("n", "quantile"), [(3, 4.303), (5, 2.776), (11, 2.228), (31, 2.042)])
def test_a_mean_of_few_values_has_the_wider_interval_of_student(n, quantile):
    assert t_factor(n) == pytest.approx(quantile / 1.96, rel=0.01)
    assert t_factor(1e9) == pytest.approx(1)

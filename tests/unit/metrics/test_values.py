"""Correlations and squared error: cases by hand, scipy's figures, intervals."""

import numpy as np
import pytest

from headway.errors import DataError
from headway.metrics.values import mean_squared_error, pearson, spearman


def test_by_hand():
    # deviations (-1, 0, 1) and (-1, 1, 0): 1 / (sqrt 2 sqrt 2)
    assert pearson([1, 2, 3], [0, 2, 1]).value == pytest.approx(0.5)
    # in order, but not on a line
    assert spearman([1, 2, 3, 4], [1, 10, 100, 1000]).value == 1.0
    assert pearson([1, 2, 3, 4], [1, 10, 100, 1000]).value < 0.9
    # ranks 1.5, 1.5, 3 and 1, 2, 3: 1.5 / sqrt(1.5 * 2)
    assert spearman([5, 5, 7], [1, 2, 3]).value == pytest.approx(1.5 / 3**0.5)
    assert mean_squared_error([1, 2], [2, 4]).value == 2.5


def test_what_does_not_vary_correlates_with_nothing():
    assert pearson([1, 1, 1, 1], [1, 2, 3, 4]).value == 0.0
    assert spearman([1, 2, 3, 4], [0.1, 0.1, 0.1, 0.1]).value == 0.0


@pytest.mark.parametrize("n", [4, 10, 500])
def test_figures_and_intervals_are_those_of_scipy(n):
    from scipy import stats

    rng = np.random.default_rng(n)
    right = rng.normal(size=n)
    outputs = np.round(right + rng.normal(size=n), 1)  # with ties
    theirs = stats.pearsonr(outputs, right)
    ours = pearson(outputs, right)
    assert ours.value == pytest.approx(theirs.statistic)
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval(0.95)))
    assert spearman(outputs, right).value == pytest.approx(
        stats.spearmanr(outputs, right).statistic
    )


def test_the_interval_of_ranks_is_near_the_bootstrap():
    from scipy import stats

    rng = np.random.default_rng(5)
    right = rng.normal(size=300)
    outputs = right + rng.normal(size=300)
    interval = stats.bootstrap(
        (outputs, right),
        lambda a, b: stats.spearmanr(a, b).statistic,
        paired=True,
        vectorized=False,
        n_resamples=500,
        method="percentile",
        random_state=1,
    ).confidence_interval
    ours = spearman(outputs, right)
    assert (ours.low, ours.high) == pytest.approx((interval.low, interval.high), abs=0.02)


def test_signatures():
    four = [1.0, 2.0, 3.0, 5.0]
    assert pearson(four, [1, 2, 4, 3]).signature == "pearson|n:4|interval:fisher95"
    assert spearman(four, [1, 2, 4, 3]).signature == "spearman|n:4|interval:bonett-wright95"
    assert mean_squared_error(four, four).signature == "mse|n:4"
    score = mean_squared_error([1, 2, 3], [1, 2, 4], resamples=100)
    assert score.low <= score.value <= score.high
    assert score.signature == "mse|n:3|interval:bootstrap95|bs:100|seed:12345"


def test_few_or_perfect_values():
    assert (pearson([1, 2, 3], [1, 2, 4]).low, spearman([1], [1]).value) == (None, 0.0)
    perfect = spearman([1, 2, 3, 4], [4, 3, 2, 1])
    assert (perfect.low, perfect.value, perfect.high) == (-1.0, -1.0, -1.0)


@pytest.mark.parametrize("metric", [pearson, spearman, mean_squared_error])
def test_lists_that_do_not_fit_are_errors(metric):
    with pytest.raises(DataError, match="2 outputs but 1 references"):
        metric([1.0, 2.0], [1.0])
    with pytest.raises(DataError, match="no values to score"):
        metric([], [])

"""Naive2: seasonality, indices and forecasts by hand. Figures of M4: `test_forecasting.py`."""

import numpy as np
import pytest

from headway.metrics.naive2 import is_seasonal, naive2, seasonal_error, seasonal_indices

PATTERN = [2.0, 1.0, 0.5, 0.5]


def test_the_indices_of_a_pure_season_are_its_pattern():
    values = 10 * np.tile(PATTERN, 5)
    assert seasonal_indices(values, 4) == pytest.approx(PATTERN)
    assert seasonal_indices(values[1:], 4) == pytest.approx([1.0, 0.5, 0.5, 2.0])
    odd = np.tile([3.0, 2.0, 1.0], 4)
    assert seasonal_indices(odd, 3) == pytest.approx([1.5, 1.0, 0.5])


def test_indices_by_hand():
    # moving average of 2: (x[t-1] / 2 + x[t] + x[t+1] / 2) / 2 = 10/4, 13/4, 15/4, 15/4
    # the ratios of the first and third step go to the odd phase
    values = np.array([1.0, 3.0, 3.0, 4.0, 4.0, 3.0])
    trend = np.array([10 / 4, 13 / 4, 15 / 4, 15 / 4])
    ratios = values[1:5] / trend
    odd, even = (ratios[0] + ratios[2]) / 2, (ratios[1] + ratios[3]) / 2
    mean = (odd + even) / 2
    assert seasonal_indices(values, 2) == pytest.approx([even / mean, odd / mean])


@pytest.mark.parametrize("cut", range(4))
def test_the_forecast_continues_the_phase(cut):
    values = 10 * np.tile(PATTERN, 10)
    history = values[: len(values) - cut]
    expected = 10 * np.roll(np.tile(PATTERN, 2), cut)
    assert naive2(history, 4, 8) == pytest.approx(expected)


def test_without_a_season_it_repeats_the_last_value():
    growing = np.random.default_rng(1).normal(10, 1, size=60)
    assert not is_seasonal(growing, 12)
    assert naive2(growing, 12, 3).tolist() == [growing[-1]] * 3
    assert naive2(growing, 1, 2).tolist() == [growing[-1]] * 2


def test_what_r_does_not_test_is_not_seasonal():
    values = np.tile(PATTERN, 20)
    assert is_seasonal(values, 4)
    assert not is_seasonal(values[:11], 4)  # fewer than three seasons
    long_season = np.tile(np.arange(1.0, 25.0), 4)
    assert not is_seasonal(long_season, 24)  # acf() has 10 log10(96) = 19 lags
    assert not is_seasonal(np.ones(40), 4)


def test_values_of_zero_or_less_have_no_indices():
    values = np.tile([1.0, -1.0, 0.0, 2.0], 10)
    assert is_seasonal(values, 4)
    assert naive2(values, 4, 2).tolist() == [2.0, 2.0]


def test_the_limit_of_seasonality_by_hand():
    values = np.random.default_rng(0).normal(size=40)
    centred = values - values.mean()
    acf = [(centred[lag:] * centred[:-lag]).sum() / (centred**2).sum() for lag in (1, 2)]
    limit = 1.645 / 40**0.5 * (1 + 2 * acf[0] ** 2) ** 0.5
    assert is_seasonal(values, 2) == (abs(acf[1]) > limit)
    mixed = values + np.tile([0.0, 5.0], 20)
    assert is_seasonal(mixed, 2)


def test_seasonal_error_by_hand():
    nan = np.nan
    history = np.array([[1, 5, nan], [2, 5, nan], [4, 5, 1], [2, 5, nan], [nan, 5, nan]])
    # column 0 with a season of 2: |4 - 1|, |2 - 2|, nan
    assert seasonal_error(history, 2)[:2].tolist() == [1.5, 0.0]
    assert np.isnan(seasonal_error(history, 2)[2])
    assert np.isnan(seasonal_error(history, 9)).all()

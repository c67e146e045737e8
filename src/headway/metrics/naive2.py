"""Naive2 and the seasonal error of a series: what the M4 competition measures forecasts against.

After the organisers' `Benchmarks and Evaluation.R` (Makridakis et al. 2020). Naive2 repeats the
last value of the seasonally adjusted series, times the seasonal indices, if the series is seasonal.
"""

import math

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

_T_CRITICAL = 1.645  # 90%, as the organisers have it


def naive2(history: Numbers, season: int, horizon: int) -> Numbers:
    """The forecast of Naive2 (horizon,) after a history without missing values (T,).

    Departs from the organisers for values of 0 or less, which have no multiplicative indices: such
    a series counts as not seasonal.
    """
    last = np.full(horizon, history[-1], np.float64)
    if history.min() <= 0 or not is_seasonal(history, season):
        return last
    indices = seasonal_indices(history, season)
    steps = np.arange(len(history), len(history) + horizon)
    return last / indices[(len(history) - 1) % season] * indices[steps % season]


def is_seasonal(history: Numbers, season: int) -> bool:
    """Whether the autocorrelation at the season exceeds its 90% limit.

    As in R, whose `acf` has `10 log10(T)` lags: a longer season, or fewer than three seasons of
    history, is not tested and counts as no season.
    """
    n = len(history)
    if season < 2 or n < 3 * season or season > math.floor(10 * math.log10(n)):
        return False
    centred = history - history.mean()
    variance = centred @ centred
    if variance == 0:
        return False
    lags = np.array([centred[lag:] @ centred[:-lag] for lag in range(1, season + 1)]) / variance
    limit = _T_CRITICAL * math.sqrt((1 + 2 * float(lags[:-1] @ lags[:-1])) / n)
    return abs(float(lags[-1])) > limit


def seasonal_indices(history: Numbers, season: int) -> Numbers:
    """Multiplicative indices of a season, from the first step on, with mean 1 (season,).

    Classical decomposition: the ratios of the values to their centred moving average, averaged.
    """
    weights = np.ones(season + 1 - season % 2)
    if season % 2 == 0:
        weights[[0, -1]] = 0.5
    trend = np.convolve(history, weights / season, mode="valid")
    begin = len(weights) // 2
    ratios = history[begin : begin + len(trend)] / trend
    phases = np.arange(begin, begin + len(trend)) % season
    means = np.bincount(phases, ratios, season) / np.bincount(phases, minlength=season)
    return np.asarray(means / means.mean())


def seasonal_error(history: Numbers, season: int) -> Numbers:
    """Mean absolute difference of each column to its value one season before (C,).

    It is NaN for a column that has no two present values a season apart, and 0 for one that repeats
    its season exactly.

    Args:
        history: (T, C) with NaN for missing values.
    """
    differences = np.abs(history[season:] - history[:-season])
    n_present = np.isfinite(differences).sum(axis=0)
    sums = np.nansum(differences, axis=0)
    return np.where(n_present > 0, sums / np.maximum(n_present, 1), np.nan)

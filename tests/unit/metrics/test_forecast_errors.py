"""Sums of errors: chunks, missing targets, columns that come apart, refusals."""

import numpy as np
import pytest

from headway.errors import DataError
from headway.metrics.forecast_errors import ErrorSums, Forecasts, SeriesScales

ONE = SeriesScales(np.ones((1, 1)))


def random_forecasts(n, rng, n_series=2, horizon=3, columns=2):
    shape = (n, horizon, columns)
    return Forecasts(
        rng.normal(size=shape).astype(np.float32),
        rng.normal(size=shape).astype(np.float32),
        rng.random(shape) < 0.8,
        rng.integers(n_series, size=n),
        np.arange(n),
        np.sort(rng.normal(size=(*shape, 3)), axis=3),
        (0.1, 0.5, 0.9),
        rng.normal(size=shape),
    )


def rows(forecasts, begin, end):
    cut = {
        name: value[begin:end] if isinstance(value, np.ndarray) else value
        for name, value in vars(forecasts).items()
    }
    return Forecasts(**cut)


def test_chunks_of_any_size_have_the_same_sums():
    forecasts = random_forecasts(20, np.random.default_rng(0))
    scales = SeriesScales(np.array([[2.0, 3.0], [1.0, 4.0]]), np.ones((2, 2)), 1)
    whole, parts = ErrorSums(scales), ErrorSums(scales)
    whole.add(forecasts)
    for begin, end in ((0, 7), (7, 8), (8, 20)):
        parts.add(rows(forecasts, begin, end))
        assert parts.by_window["count"].shape == (end,)
    for name, column in whole.by_window.items():
        assert parts.by_window[name] == pytest.approx(column), name


def test_sums_by_hand():
    sums = ErrorSums(SeriesScales(np.array([[2.0]]), np.array([[4.0]]), 1))
    sums.add(
        Forecasts(
            np.array([[[1.0], [4.0], [9.0]]]),
            np.array([[[3.0], [4.0], [np.nan]]]),
            np.array([[[True], [True], [False]]]),
            np.array([0]),
            np.array([7]),
            np.array([[[[0.0, 2.0]], [[4.0, 6.0]], [[0.0, 0.0]]]]),
            (0.25, 0.75),
        )
    )
    by_hand = {
        "series": 0,
        "origin": 7,
        "count": 2,
        "absolute": 2,
        "squared": 4,
        "scaled_absolute": 1,
        "scaled_squared": 1,
        "symmetric": 200 * 2 / 4,
        "mase": 0.5,
        "mase_count": 2,
        # 3 over 0 and 2, then 4 at 4 and under 6: half of .25 * 3 + .75 * 1 + 0 + .25 * 2
        "pinball": 1.0,
        "scaled_pinball": 0.5,
        "covered": 1,
        "width": 4,
        "scaled_width": 2,
    }
    assert {name: value.tolist() for name, value in sums.by_window.items()} == {
        name: [value] for name, value in by_hand.items()
    }
    assert sums.n_missing == 1


def test_both_zero_is_no_symmetric_error():
    sums = ErrorSums(ONE)
    zeros = np.zeros((1, 2, 1))
    sums.add(Forecasts(zeros, zeros, zeros == 0, np.array([0]), np.array([0])))
    assert sums.by_window["symmetric"].tolist() == [0.0]


def test_columns_that_come_apart_are_one_window():
    forecasts = random_forecasts(4, np.random.default_rng(1), n_series=1)
    whole = ErrorSums(SeriesScales(np.ones((1, 2))))
    whole.add(forecasts)
    apart = ErrorSums(ONE)
    for column in (0, 1):
        columns = {
            name: value[:, :, [column]]
            for name, value in vars(forecasts).items()
            if isinstance(value, np.ndarray) and value.ndim > 1
        }
        rest = {name: value for name, value in vars(forecasts).items() if name not in columns}
        apart.add(Forecasts(**columns, **rest))
    for name, column in whole.by_window.items():
        assert apart.by_window[name] == pytest.approx(column), name
    assert apart.n_windows == whole.n_windows == 4


def test_float32_chunks_are_summed_in_float64():
    n = 2000
    sums = ErrorSums(ONE)
    outputs, shape = np.full((n, 50, 1), 0.1, np.float32), (n, 50, 1)
    places = np.zeros(n, int), np.arange(n)
    sums.add(Forecasts(outputs, np.zeros(shape, np.float32), np.ones(shape, bool), *places))
    total = sums.by_window["squared"].sum()
    assert total == pytest.approx(n * 50 * float(np.float32(0.1)) ** 2, rel=1e-13)


def test_blocks_span_two_horizons_or_one():
    sums = ErrorSums(SeriesScales(np.ones((2, 1))))
    origins = np.concatenate([np.arange(100, 120), np.arange(0, 60, 4)])
    series = np.repeat([0, 1], [20, 15])
    zeros = np.zeros((35, 3, 1))
    order = np.random.default_rng(0).permutation(35)
    sums.add(Forecasts(zeros, zeros, zeros == 0, series[order], origins[order]))
    assert sums.blocks() == [6, 2]
    assert [len(group) for group in sums.groups(("count", "squared"))] == [20, 15]
    assert sums.series.tolist() == [0, 1]


def test_a_number_that_is_not_finite_is_named():
    values, valid = np.zeros((2, 3, 1)), np.ones((2, 3, 1), bool)
    bad = values.copy()
    bad[1, 2, 0] = np.inf
    places = np.array([4, 5]), np.array([10, 20])
    scales = SeriesScales(np.ones((6, 1)))
    message = "forecast of series 5, step 22, column 0 is inf; expected a finite number"
    with pytest.raises(DataError, match=message):
        ErrorSums(scales).add(Forecasts(bad, values, valid, *places))
    with pytest.raises(DataError, match="target of series 5, step 22"):
        ErrorSums(scales).add(Forecasts(values, bad, valid, *places))
    missing = valid.copy()
    missing[1, 2, 0] = False
    sums = ErrorSums(scales)
    sums.add(Forecasts(values, bad, missing, *places))
    assert sums.by_window["count"].tolist() == [3.0, 2.0]


def test_nothing_to_score_and_other_horizons_are_refused():
    sums = ErrorSums(ONE)
    with pytest.raises(DataError, match="no targets to score: got 0"):
        _ = sums.by_window
    zeros = np.zeros((1, 2, 1))
    sums.add(Forecasts(zeros, zeros, zeros > 0, np.array([0]), np.array([0])))
    with pytest.raises(DataError, match="no targets to score: got 0"):
        _ = sums.by_window
    longer = np.zeros((1, 3, 1))
    with pytest.raises(DataError, match=r"forecasts of 3 steps .* after forecasts of 2 steps"):
        sums.add(Forecasts(longer, longer, longer > 0, np.array([0]), np.array([0])))

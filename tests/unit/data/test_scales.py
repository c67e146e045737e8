"""Scales of series: constants, ranges, running sums; and the variance of a typical window."""

import numpy as np
import pytest
from forecast_runs import NAN, series

from headway.data.scales import Scales, TypicalVariances, deviations, moments
from headway.data.store import ArrayColumn, Column


def column_of(*values):
    arrays = [np.asarray(one, float).reshape(len(one), -1) for one in values]
    return ArrayColumn(Column("target", "float64", (arrays[0].shape[1],)), arrays)


def at(scales, series, first, channel=None):
    chosen = None if channel is None else np.array(channel)
    return scales.at(np.array(series), np.array(first), chosen)


class TestDeviations:
    def test_a_constant_has_nothing_to_scale_by(self):
        for values in ([7.0] * 9, [0.0] * 9, [0.1] * 999, [1e9 + 0.1] * 99):
            deviation, is_constant = deviations(*moments(np.array(values), 0))
            assert (float(deviation), bool(is_constant)) == (1.0, True)

    @pytest.mark.parametrize("unit", [1e-20, 1.0, 1e20])
    def test_whatever_the_unit(self, unit):
        deviation, is_constant = deviations(*moments(np.array([1.0, 3.0]) * unit, 0))
        assert float(deviation) == pytest.approx(unit)
        assert not is_constant

    def test_unknown_values_do_not_count(self):
        mean, variance = moments(np.array([[1.0, NAN], [NAN, NAN], [3.0, NAN]]), 0)
        assert (mean.tolist(), variance.tolist()) == ([2, 0], [1, 0])


class TestScales:
    def test_the_steps_of_a_range(self):
        scales = Scales.of(column_of([9.0, 1, 3, 50], [4.0, 4, 4]), np.array([[1, 3], [0, 3]]))
        assert at(scales, [0, 1, 0], [3, 1, 2]).tolist() == [[[2, 1]], [[4, 1]], [[2, 1]]]
        assert scales.is_constant.tolist() == [[False], [True]]
        assert scales.rule == "training part"

    def test_all_steps_before_a_window(self):
        values = np.random.default_rng(0).normal(1e6, 2.0, (50, 2))
        values[[3, 10, 11], 0] = NAN
        values[:5, 1] = NAN
        scales = Scales.of(column_of(np.ones((4, 2)), values), np.zeros((2, 2), int))
        assert scales.rule == "steps before each window"
        for first in (1, 2, 4, 7, 30, 50):
            found = at(scales, [1], [first])[0]
            for channel in (0, 1):
                own = values[:first, channel]
                own = own[~np.isnan(own)]
                constant = len(own) < 2
                mean = own.mean() if len(own) else 0
                by_hand = [mean, 1.0 if constant else own.std()]
                assert found[channel] == pytest.approx(by_hand, rel=1e-6)
                assert at(scales, [1], [first], [channel])[0].tolist() == [found[channel].tolist()]

    def test_some_of_each(self):
        column = column_of([1.0, 3, 8], [2.0, 6, 100])
        scales = Scales.of(column, np.array([[0, 2], [0, 0]]))
        assert at(scales, [0, 1], [1, 2]).tolist() == [[[2, 1]], [[4, 2]]]
        assert scales.rule == "training part or steps before each window"


class TestTypicalVariances:
    def test_the_median_of_later_windows_that_change(self):
        """Windows of two steps, with variances 1, 0, 4 and 9 in the later half."""
        found = TypicalVariances(2, by_series=False)
        found.add(np.array([[0.0, 900] * 4 + [0, 2, 5, 5, 0, 4, 0, 6]]).T)
        assert found.result(np.array([1.0])) == (4.0,)
        assert found.result(np.array([2.0])) == (1.0,)

    def test_by_series_each_in_its_own_deviation(self):
        found = TypicalVariances(4, by_series=True)
        for unit in (1.0, 1e6):
            found.add(unit * np.array([[0.0], [2], [0], [2]]))
        assert found.result(np.array([123.0])) == pytest.approx((1.0,))

    def test_without_a_window_that_changes(self):
        found = TypicalVariances(3, by_series=False)
        found.add(np.array([[5.0, NAN]] * 7))
        assert found.result(np.ones(2)) == (1.0, 1.0)
        assert TypicalVariances(3, by_series=True).result(np.ones(1)) == (1.0,)

    def test_windows_of_all_series_count(self):
        found = TypicalVariances(2, by_series=False)
        for values in ([0, 2], [0, 4], [0, 6]):
            found.add(series(values).values)
        assert found.result(np.ones(1)) == (4.0,)

"""The floors beside a model: table, warnings, notes, and the seasonal naive forecast by hand."""

import numpy as np
from forecast_runs import NAN

from headway.inference.floor_scores import (
    floor_lines,
    note_of_short_histories,
    seasonal_naive,
    warnings_of_floors,
)
from headway.metrics.score import Score


def score(value, name="MSE"):
    return Score(name, value, None, None, "")


class TestFloors:
    def test_a_table_beside_the_model(self):
        own = {"mse": score(0.5), "coverage": score(90.0, "Coverage")}
        lines = floor_lines(own, {"naive": {"mse": score(2.0)}, "ridge": {"mse": score(0.25)}})
        assert lines == [
            "",
            "on the same windows        model       naive       ridge",
            "MSE                        0.500       2.000       0.250",
        ]
        assert floor_lines(own, {}) == []
        small = {"mse": score(0.00763)}
        assert floor_lines(small, {"naive": {"mse": score(0.0081)}})[-1] == (
            "MSE                      0.00763     0.00810"
        )
        [line] = warnings_of_floors(small, {"ridge": {"mse": score(0.00761)}})
        assert line.startswith("ridge (0.00761) is better than the model (0.00763) by MSE")

    def test_a_better_floor_is_a_warning(self):
        own = {"mse": score(0.5)}
        assert warnings_of_floors(own, {"naive": {"mse": score(0.5)}}) == []
        assert warnings_of_floors({"mse": score(3e-14)}, {"naive": {"mse": score(0.0)}}) == []
        [line] = warnings_of_floors(own, {"ridge": {"mse": score(0.25)}})
        assert line.startswith("ridge (0.250) is better than the model (0.500) by MSE")
        others = {"seasonal": {"mse": score(0.4)}, "ridge": {"mse": score(0.25)}}
        [line] = warnings_of_floors(own, others)
        assert line.startswith("seasonal (0.400) and ridge (0.250) are better than the model")


def test_the_seasonal_naive_forecast_fills_gaps_and_repeats_the_last_value_before_the_start():
    history = np.array([[1, 5], [NAN, 6], [3, NAN]])
    assert seasonal_naive(history, 2, 3).tolist() == [[1, 6], [3, 6], [1, 6]]
    assert seasonal_naive(history, 4, 2).tolist() == [[3, 6], [1, 5]]
    assert np.isnan(seasonal_naive(np.full((3, 1), NAN), 2, 2)).all()


def test_short_histories_are_counted():
    assert note_of_short_histories(np.array([24, 25]), 24) == []
    assert note_of_short_histories(np.array([5, 24]), 24) == [
        "seasonal: 1 of 2 windows have less than a season of 24 steps before them; where the "
        "season before has no value, it is the naive forecast"
    ]

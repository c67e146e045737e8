"""Warnings about forecasts: short histories and series without dates, one or several."""

import numpy as np
import pytest

from headway.data.frequency import Frequency
from headway.data.series import Series
from headway.inference.forecast_warnings import _short_histories, warnings_of_dates


def rows(*lengths):
    return [{"target": np.zeros(length)} for length in lengths]


@pytest.mark.parametrize("length", [35, 70, 99])
def test_a_history_of_half_the_look_back_or_more_is_enough(length):
    assert _short_histories(rows(length), ["a:2"], 70) == []


def test_one_series():
    assert _short_histories(rows(5), ["a:2"], 70) == [
        "the history has 5 of the 70 steps that the model reads; the forecast and its intervals "
        "are uncertain"
    ]


def test_several_series_are_one_line():
    places = [f"a:{i}" for i in range(2, 8)]
    [line] = _short_histories(rows(5, 70, 6, 7, 8, 70), places, 70)
    assert line.startswith(
        "4 of 6 series have less than half of the 70 steps that the model reads (a:2, a:4, a:5, "
        "...); their"
    )
    [line] = _short_histories(rows(5, 70), ["a:2", "a:9"], 70)
    assert line.startswith("1 of 2 series has less than half of the 70 steps")
    assert line.endswith("(a:2); its forecasts and intervals are uncertain")


def series(start, unit):
    return {"target": Series("", ("a",), np.zeros((2, 1)), start, Frequency(unit))}


def test_series_without_dates():
    dated, numbered = series(np.datetime64("2024-01-01", "s"), "D"), series(0, "step")
    assert warnings_of_dates([dated], ["a.csv:2"]) == []
    rest = (
        " no times, and the training data have dates: the steps of the forecast are numbered; add "
        "times for dates"
    )
    one = warnings_of_dates([numbered, dated, numbered], ["a.csv:2", "b.csv:2", "a.csv:9"])
    assert one == [f"a.csv has{rest}"]
    places = [f"series[{i}]" for i in range(4)]
    [several] = warnings_of_dates([numbered] * 4, places)
    assert several == f"series[0], series[1], series[2], ... have{rest}"

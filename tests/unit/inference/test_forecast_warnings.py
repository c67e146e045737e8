"""Warnings about forecasts: short histories, one or several."""

import numpy as np
import pytest

from headway.inference.forecast_warnings import _short_histories


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

"""Ensembles of forecasters: the settings and data that all runs must share."""

import pytest
from forecast_runs import NAN, fitted, series, wave

from headway.tasks.forecast_ensemble import ensemble_problem

USUAL = {"lookback": 12, "horizon": 4}
RUNS = ("runs/a", "runs/b")
VALUES = wave(60)


def problem(rows=None, **settings):
    """Why a task of other rows or settings cannot join the usual one."""
    usual = fitted([series(VALUES)], **USUAL)
    other = fitted(rows or [series(VALUES)], **(USUAL | settings))
    found = usual.ensemble_problem(other, RUNS)
    assert found == ensemble_problem(usual, other, RUNS)
    return found


def test_what_may_differ():
    assert problem() is None
    assert problem(loss="mse", levels=[0.5], stride=2) is None


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"lookback": 18}, "forecast.lookback = 18 and runs/a 12"),
        ({"season": 7}, "forecast.season = 7 and runs/a 24"),
        ({"scaling": "none"}, 'forecast.scaling = "none" and runs/a "column"'),
        ({"normalise": "last"}, 'forecast.normalise = "last" and runs/a "window"'),
        ({"horizon": 5}, "forecast.horizon = 5 and runs/a 4"),
        ({"channels": "mixed"}, 'forecast.channels = "mixed" and runs/a "apart"'),
        ({"calendar": ["hour"]}, 'forecast.calendar = ["hour"] and runs/a none'),
        ({"quantiles": [0.1, 0.5]}, "forecast.quantiles = [0.1, 0.5] and runs/a none"),
        ({"step": 2}, "forecast.step = 2 and runs/a 16"),
    ],
    ids=str,
)
def test_settings_that_differ_are_named(settings, expected):
    assert problem(**settings) == (
        f"runs/b has {expected}, and an ensemble needs one and the same; train both on the same "
        "data with the same [forecast]"
    )


def test_data_that_differ_are_named():
    gappy = VALUES.copy()
    gappy[5] = NAN
    assert problem([series(gappy)]).startswith(
        "runs/b has missing values in the training data = true and runs/a false, and"
    )
    assert problem([series(2 * VALUES)]) == (
        "runs/b has other columns or scales of target than runs/a, and an ensemble needs one and "
        "the same; train both on the same data"
    )
    with_past = {"target": series(VALUES), "past": series(VALUES)}
    assert problem([with_past]).startswith(
        'runs/b has the columns = ["target", "past"] and runs/a ["target"], and'
    )

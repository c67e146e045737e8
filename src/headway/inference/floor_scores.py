"""The floors of a forecast beside the model: table, warnings, and the seasonal naive forecast.

What floors there are is decided in `tasks/forecast_floors.py`.
"""

from collections.abc import Mapping

import numpy as np

from ..data.windows import fill_forward
from ..metrics.score import Score, decimals_of

DIGITS = 3
"""Decimals of scores, and significant digits of small ones."""
OWN = "model"
"""The name of the model beside its floors."""
DECIDING = frozenset({"mse", "mae", "rmse", "mae_units", "smape", "mase", "owa"})
"""The first of these metrics in a report decides whether a floor is better than the model."""


def seasonal_naive(history: np.ndarray, season: int, horizon: int) -> np.ndarray:
    """The last season of a series (T, C), repeated (H, C).

    A missing value is the one before it. Where there is no value a season before, it is the last
    one; a column without any value is NaN.
    """
    filled, is_filled = (each[0] for each in fill_forward(history[None]))
    steps = len(history) - season + np.arange(horizon) % season
    inside = np.maximum(steps, 0)
    is_there = (steps >= 0)[:, None] & is_filled[inside]
    last = np.where(is_filled[-1], filled[-1], np.nan)
    return np.where(is_there, filled[inside], last)


def note_of_short_histories(origins: np.ndarray, season: int) -> list[str]:
    """A line if some windows have less than a season before them; none otherwise.

    Args:
        origins: the number of steps before each window.
    """
    n_short = int((origins < season).sum())
    if not n_short:
        return []
    return [
        f"seasonal: {n_short:,} of {len(origins):,} windows have less than a season of {season} "
        "steps before them; where the season before has no value, it is the naive forecast"
    ]


def floor_lines(own: Mapping[str, Score], floors: Mapping[str, Mapping[str, Score]]) -> list[str]:
    """A table of the metrics that the floors have, with the model in the first column."""
    shown = [name for name in own if any(name in scores for scores in floors.values())]
    if not shown:
        return []
    columns = {OWN: own, **floors}
    lines = ["", "on the same windows " + "".join(f"{name:>12}" for name in columns)]
    for name in shown:
        found = [scores.get(name) for scores in columns.values()]
        n = decimals_of((score.value for score in found if score), DIGITS, DIGITS)
        cells = "".join(f"{'' if score is None else f'{score.value:.{n}f}':>12}" for score in found)
        lines.append(f"{own[name].name:20}{cells}")
    return lines


def warnings_of_floors(
    own: Mapping[str, Score], floors: Mapping[str, Mapping[str, Score]]
) -> list[str]:
    """A warning if a floor is better than the model."""
    metric = next((name for name in own if name in DECIDING), None)
    if metric is None:
        return []
    value = own[metric].value
    better = {
        name: scores[metric].value
        for name, scores in floors.items()
        if metric in scores and scores[metric].value < value
    }
    n = decimals_of([value, *better.values()], DIGITS, DIGITS)
    better = {name: each for name, each in better.items() if f"{each:.{n}f}" != f"{value:.{n}f}"}
    if not better:
        return []
    named = " and ".join(f"{name} ({each:.{n}f})" for name, each in better.items())
    return [
        f"{named} {'are' if len(better) > 1 else 'is'} better than the model "
        f"({value:.{n}f}) by {own[metric].name}; a simple model is enough for these data, or this "
        "one needs more training"
    ]

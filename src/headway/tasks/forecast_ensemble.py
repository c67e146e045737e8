"""Ensembles of forecasters: what their runs must have in common.

The members read one batch, and the mean of their outputs is taken. So the runs need the same scales
and windows, and outputs of the same form.
"""

import json
from dataclasses import asdict
from typing import Any

SHARED = ("horizon", "channels", "normalise", "calendar", "quantiles", "step")
"""The settings of `[forecast]` that shape inputs and outputs."""
FACTS = {
    "history": "forecast.lookback",
    "season": "forecast.season",
    "frequency": "the step of the series",
    "has_gaps": "missing values in the training data",
    "scaling": "forecast.scaling",
}
"""The facts of the windows, with the names of their settings."""


def ensemble_problem(first: Any, other: Any, runs: tuple[str, str]) -> str | None:
    """Why models of two tasks cannot be averaged; None if they can.

    Args:
        runs: the names of their runs.
    """
    ours, theirs = _settings(first), _settings(other)
    for name, value in ours.items():
        if theirs[name] != value:
            return (
                f"{runs[1]} has {name} = {_shown(theirs[name])} and {runs[0]} "
                f"{_shown(value)}, and an ensemble needs one and the same; train both on the same "
                "data with the same [forecast]"
            )
    for column, codec in first.codecs.items():
        if codec.fingerprint() != other.codecs[column].fingerprint():
            return (
                f"{runs[1]} has other columns or scales of {column} than {runs[0]}, and an "
                "ensemble needs one and the same; train both on the same data"
            )
    return None


def _settings(task: Any) -> dict[str, Any]:
    """All that a batch and its outputs depend on, besides the codecs."""
    facts = asdict(task.inputs.facts)
    return {
        **{FACTS[name]: value for name, value in facts.items()},
        **{f"forecast.{name}": getattr(task.config, name) for name in SHARED},
        "the columns": list(task.codecs),
    }


def _shown(value: Any) -> str:
    """A value as in a run file; `none` if it is not set."""
    return "none" if value is None else json.dumps(value)

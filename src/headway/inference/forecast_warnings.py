"""Warnings about forecasts: no dates, few values, levels without intervals, a longer horizon.

`inference.floor_scores` has those about scores.
"""

from collections.abc import Sequence

from ..tasks.forecast import Forecast
from ..tasks.forecast_calibration import Calibration, missing_levels
from .series_files import SeriesRow

PLACES_SHOWN = 3
NO_INTERVALS = (
    "an ensemble has no prediction intervals, which are calibrated on the errors of a single run; "
    "for intervals, use one run"
)
FULL_SHARE = 0.5
"""The share of the look-back below which a history is short."""


def warnings_of_forecast(
    task: Forecast,
    calibration: Calibration | None,
    rows: Sequence[SeriesRow],
    places: Sequence[str],
    horizon: int,
    is_ensemble: bool,
) -> list[str]:
    """What users should know of the forecasts of some series.

    Args:
        places: the location of each series.
        horizon: steps of the forecast.
        is_ensemble: whether these are forecasts of several runs.
    """
    trained = task.config.horizon
    beyond = (
        f"the run was trained for {trained} steps: those beyond are forecast from forecasts, "
        "without intervals"
    )
    return [
        *_short_histories(rows, places, task.inputs.size.history),
        *([NO_INTERVALS] if is_ensemble else missing_levels(task.config, calibration)),
        *([beyond] if horizon > trained else []),
    ]


def warnings_of_dates(rows: Sequence[SeriesRow], places: Sequence[str]) -> list[str]:
    """A warning about series with numbered steps, for a model whose training data had dates."""
    pairs = zip(rows, places, strict=True)
    numbered = [place for row, place in pairs if row["target"].times.dtype.kind != "M"]
    files = list(dict.fromkeys(place.rpartition(":")[0] or place for place in numbered))
    if not files:
        return []
    named = ", ".join(files[:PLACES_SHOWN]) + (", ..." if len(files) > PLACES_SHOWN else "")
    return [
        f"{named} {'has' if len(files) == 1 else 'have'} no times, and the training data have "
        "dates: the steps of the forecast are numbered; add times for dates"
    ]


def _short_histories(rows: Sequence[SeriesRow], places: Sequence[str], history: int) -> list[str]:
    """A warning about series with few of the steps that the model reads."""
    lengths = [len(row["target"]) for row in rows]
    short = [i for i, length in enumerate(lengths) if length < FULL_SHARE * history]
    if not short:
        return []
    if len(rows) == 1:
        return [
            f"the history has {lengths[0]} of the {history} steps that the model reads; the "
            "forecast and its intervals are uncertain"
        ]
    more = ", ..." if len(short) > PLACES_SHOWN else ""
    shown = ", ".join(places[i] for i in short[:PLACES_SHOWN])
    have, their = ("has", "its") if len(short) == 1 else ("have", "their")
    return [
        f"{len(short)} of {len(rows):,} series {have} less than half of the {history} steps that "
        f"the model reads ({shown}{more}); {their} forecasts and intervals are uncertain"
    ]

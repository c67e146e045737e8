"""Makes a `SeriesInspection` of a forecaster: one window, its forecast, its attention; and a
`ReadSeries` for the inspection of a classifier or a regressor.

What a covariate did is the forecast with the covariate held still: in the whole window it has the
value that it had last before the forecast, a fact of the calendar its mean.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ..data.series import Series
from ..data.times import TimeProblem, parse_times, time_texts
from ..data.windows import Windows
from ..errors import DataError
from ..inspection.attention import AttentionTrace, trace_forward
from ..inspection.series import (
    CLASS_VECTOR,
    Band,
    ReadSeries,
    SeriesInspection,
    SeriesWindow,
    Span,
)
from ..models import FAMILIES
from ..tasks.forecast_inputs import CALENDAR
from ..tasks.inputs import Inputs
from .series_files import SeriesRow, corpus_like

if TYPE_CHECKING:
    from .forecaster import Forecaster

MOST_HELD = 24
"""The most covariates that are held still; those that change the forecast most are kept."""
At = int | str | None


def inspect_series(
    model: "Forecaster",
    row: SeriesRow,
    column: str | None,
    at: At,
    names: Sequence[str],
    place: str,
) -> SeriesInspection:
    """The inspection of one column of a series.

    Args:
        column: the first by default.
        at: the first step of the forecast: its time, or its number from the end (negative). By
            default the one after the end.
        names: the names of all series of the data.
        place: the series in messages.

    Raises:
        DataError: there is no such column or time, or the series cannot be forecast.
        ConfigError: this is an ensemble.
    """
    single = model.single_model("looking inside")
    number = column_number(model.task.inputs.target.names, column)
    model.check([row], [place], 0)  # the true values too
    first = first_step(row["target"], at, corpus_like(model.config.data).day_first)
    before = replace(row["target"], values=row["target"].values[:first])
    model.check([{**row, "target": before}], [place], model.task.config.horizon)
    row = model.with_trained_steps(row)
    target = row["target"]
    windows = window_at(model, row, number, first)
    parts = traces(model, single, windows)
    return SeriesInspection(
        model.task.name,
        _window(model, windows, target, number, first),
        (tuple(names), target.columns),
        model.background(),
        _patches(model) if parts else [],
        _written(model) if any(part.kind != "encoder" for part in parts) else [],
        [part for part in parts if part.kind == "encoder"],
        [part for part in parts if part.kind != "encoder"],
    )


def series_read(
    inputs: Inputs, value: Any, encoded: np.ndarray, model: Any, attends: bool
) -> ReadSeries | None:
    """The series of an inspection, with its columns of numbers.

    None for a text, and for a series without such a column.

    Args:
        model: the settings of the model.
        attends: whether the model has attention, which reads patches.
    """
    series = inputs.as_series(value)
    if series is None or not inputs.numbers:
        return None
    columns = dict(zip(series.columns, series.values.T, strict=True))
    numbers = {name: columns[name] for name in inputs.numbers}
    times = series.times
    is_counted = times.dtype.kind != "M" and series.start == 0
    spans: list[Span] = inputs.spans(encoded, model) if attends else []
    has_class_vector = attends and model.input.class_vector
    return ReadSeries(
        series.name,
        list(numbers),
        time_texts(times + 1 if is_counted else times),
        [[None if np.isnan(x) else float(x) for x in values] for values in numbers.values()],
        [CLASS_VECTOR, *spans] if has_class_vector else spans,
        0 if getattr(model, "pooling", None) == "first" else None,
        (series.name,) if series.name else (),
    )


def column_number(names: Sequence[str], column: str | None) -> int:
    """The position of a column among those that a model forecasts."""
    if column is None:
        return 0
    if column not in names:
        raise DataError(f"no column {column!r} is forecast; expected one of {', '.join(names)}")
    return names.index(column)


def first_step(target: Series, at: At, day_first: bool | None = None) -> int:
    """The number of the step at which a forecast begins.

    Args:
        day_first: the order of day and month in the training data, if they show one.
    """
    n = len(target)
    if at is None:
        return n
    first = n + int(at) if _counts(at) else _step_of(target, str(at), day_first)
    if not 1 <= first <= n:
        times = time_texts(target.frequency.times(target.start, 1, n))
        raise DataError(
            f"a forecast cannot begin at {at}: {target.name or 'the series'} has steps before it "
            f"from {times[0]} to {times[-1]}; give one of them, or a negative number from the end"
        )
    return first


def _counts(at: int | str) -> bool:
    """Whether a beginning is a number of steps from the end."""
    text = str(at)
    return text.startswith("-") and text[1:].isdecimal()


def _step_of(target: Series, at: str, day_first: bool | None) -> int:
    """The step of a time, or the one after it if it is between two."""
    try:
        parsed = parse_times([at], day_first)
    except TimeProblem as problem:
        raise DataError(f"the beginning of the forecast: {problem}") from None
    [time] = parsed.times
    if parsed.other is not None:
        raise DataError(
            f"a forecast cannot begin at {at}, which may begin with the day or the month; write it "
            f"as {time_texts(parsed.times)[0]} or {time_texts(parsed.other)[0]}"
        )
    if isinstance(time, np.datetime64) != isinstance(target.start, np.datetime64):
        kind = "dates" if isinstance(target.start, np.datetime64) else "numbers"
        last = time_texts(target.frequency.times(target.start, len(target) - 1, 1))[0]
        raise DataError(
            f"a forecast cannot begin at {at}: the times of the series are {kind}; give one such "
            f"as {last}, or a negative number of steps from the end, such as -1"
        )
    times = target.frequency.times(target.start, 0, len(target) + 1)
    return int(np.searchsorted(times, time))


def window_at(model: "Forecaster", row: SeriesRow, column: int, first: int) -> Windows:
    """The one window of a column whose forecast begins at a step."""
    store = model.in_memory([row])
    span = np.array([[first, first + model.task.config.horizon]])
    windows = model.task.windows_at(store, span)
    return windows.select(np.array([column])) if windows.apart else windows


def _window(
    model: "Forecaster", windows: Windows, target: Series, column: int, first: int
) -> SeriesWindow:
    task = model.task
    history, horizon = task.inputs.size.history, task.config.horizon
    floors = model.floors()
    if first < task.inputs.facts.season:  # without a season it is hardly more than the naive one
        floors.pop("seasonal", None)
    batches = next(iter(task.backtests([model.model, *floors.values()], windows)))
    channel = 0 if windows.apart else column
    own = batches[0]

    def in_units(scaled: np.ndarray) -> list[float]:
        return model.in_units(windows, own, scaled)[0, :, channel].tolist()

    calibration = model.calibration
    intervals = calibration.intervals(own) if calibration is not None else ()
    held = {
        name: in_units(outputs[None]) for name, outputs in _held(model, windows, own.point).items()
    }
    times = target.frequency.times(target.start, first - history, history + horizon)
    return SeriesWindow(
        target.name,
        target.columns[column],
        str(target.frequency),
        time_texts(times),
        _values(target, column, first - history, first),
        in_units(own.point),
        [Band(level, in_units(low), in_units(high)) for level, low, high in intervals],
        {name: in_units(batch.point) for name, batch in zip(floors, batches[1:], strict=True)},
        _values(target, column, first, first + horizon) if first < len(target) else None,
        held,
    )


def _values(target: Series, column: int, first: int, end: int) -> list[float | None]:
    """The values of some steps; None where there is none."""
    values = np.full(end - first, np.nan)
    inside = slice(max(first, 0), min(end, len(target)))
    values[inside.start - first : inside.stop - first] = target.values[inside, column]
    return [None if np.isnan(value) else float(value) for value in values]


@torch.inference_mode()
def _held(model: "Forecaster", windows: Windows, usual: np.ndarray) -> dict[str, np.ndarray]:
    """Scaled forecasts (H, C) with one covariate held still each, those that differ most first.

    Args:
        usual: the forecast itself (1, H, C).
    """
    features = model.task.inputs.covariate_features()
    if not features:
        return {}
    batch = model.task.batch(windows, np.array([0]))  # type: ignore[arg-type]
    history = model.task.inputs.size.history
    past = model.task.inputs.codecs["past"].names if "past" in model.task.codecs else ()
    found: dict[str, np.ndarray] = {}
    for name, columns in features.items():
        src = batch["src"].clone()
        values = src[:, :, columns]
        is_fact = name.startswith(f"{CALENDAR}: ")
        still = values.mean(1, keepdim=True) if is_fact else values[:, history - 1, None]
        src[:, : history if name in past else None, columns] = still
        outputs = model.task.outputs(model.model, model.to_device({**batch, "src": src}))
        found[name] = outputs[0, ..., model.task.point].float().cpu().numpy()
    effects = {name: float(np.abs(each - usual[0]).max()) for name, each in found.items()}
    order = sorted(found, key=lambda name: -effects[name])
    return {name: found[name] for name in order[:MOST_HELD]}


@torch.inference_mode()
def traces(model: "Forecaster", single: Any, windows: Windows) -> list[AttentionTrace]:
    """The attention of a pass over the one window; a decoder reads the model's own forecast."""
    if "attend" not in FAMILIES[model.config.model.family].abilities:
        return []
    task = model.task
    batch: dict[str, Tensor] = task.batch(windows, np.array([0]))  # type: ignore[arg-type]
    if "step" in FAMILIES[model.config.model.family].abilities:
        outputs = task.outputs(single, model.to_device(batch)).cpu()
        own = {
            **batch,
            "values": outputs[..., task.point],
            "values_valid": torch.ones_like(batch["values_valid"]),
        }
        batch["tgt_in"] = task.inputs.decoder_inputs(own, task.config.step)
    else:
        del batch["tgt_in"]
    return trace_forward(single, batch).parts


def _patches(model: "Forecaster") -> list[Span]:
    """The steps of each vector that the model attends to."""
    settings: Any = model.config.model
    n_steps = model.task.inputs.n_steps
    if settings.input is None:
        return [(step, step) for step in range(n_steps)]
    spans: list[Span] = settings.input.spans(n_steps)
    return [CLASS_VECTOR, *spans] if settings.input.class_vector else spans


def _written(model: "Forecaster") -> list[Span]:
    """The steps of each patch that a decoder writes."""
    history, horizon = model.task.inputs.size.history, model.task.config.horizon
    step = model.task.config.step
    starts = range(history, history + horizon, step)
    return [(start, min(start + step, history + horizon) - 1) for start in starts]

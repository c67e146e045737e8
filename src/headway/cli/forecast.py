"""`headway forecast`: the steps after the end of a series, with dates and intervals."""

import csv
import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .eval_data import require_format
from .options import Json, Run, Threads, Weights, With, set_threads, warn

if TYPE_CHECKING:
    from ..inference.forecaster import SeriesForecast

File = Annotated[
    str | None,
    typer.Argument(metavar="FILE", help="A file of series. Default: the data of the run."),
]
Horizon = Annotated[
    int | None,
    typer.Option("--horizon", min=1, help="Number of steps. Default: as the run was trained."),
]
History = Annotated[
    str | None,
    typer.Option("--history", metavar="FILE", help="A file with earlier values of the series."),
]
Format = Annotated[
    str | None,
    typer.Option("--format", help="Format of FILE, if its extension does not determine it."),
]
Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write to a file instead.")]
DIGITS = 5
"""Significant digits of the scale of a series, which numbers are printed to."""
MOST_DECIMALS = 15
LARGEST = 1e16
"""The size from which on a number has an exponent: it has no more exact digits."""


def forecast(
    run: Run,
    file: File = None,
    horizon: Horizon = None,
    form: Format = None,
    history: History = None,
    out: Out = None,
    more: With = None,
    weights: Weights = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Forecasts the steps after the end of each series.

    Prints CSV: series, column, time, forecast, and the ends of the prediction intervals. The
    series need not be those of the training data, but must have their columns. With --json, prints
    an object for each series and column.

    Example: headway forecast runs/mine sales.csv --horizon 14
    """
    from ..inference.forecaster import Forecaster
    from ..inference.load import load_for
    from ..inference.series_files import corpora_of
    from .options import writing

    set_threads(threads)
    require_format(form)
    model: Forecaster = load_for("forecast", Forecaster, run, *(more or []), weights=weights)  # type: ignore[type-abstract]
    corpora, root = corpora_of(model.config.data, file, form, history)
    forecasts, found = [], []
    for corpus in corpora:
        series = model.read(corpus, root)
        forecasts += model.forecast(series.rows, horizon, series.places)
        found += [*series.warnings, *model.warnings(series.rows, series.places, horizon)]
    for text in dict.fromkeys(found):
        warn(text)
    lines = _json_lines(forecasts) if as_json else _csv_lines(forecasts)
    if out is None:
        sys.stdout.writelines(lines)
        return
    with writing("--out", out):
        out.write_text("".join(lines), encoding="utf-8")


def _json_lines(forecasts: "Sequence[SeriesForecast]") -> Iterator[str]:
    for one in forecasts:
        yield json.dumps(asdict(one), ensure_ascii=False, allow_nan=False) + "\n"


class _Lines(list[str]):
    """A file-like list of lines for the CSV writer."""

    def write(self, text: str) -> None:
        self.append(text)


def _csv_lines(forecasts: "Sequence[SeriesForecast]") -> list[str]:
    lines = _Lines()
    writer = csv.writer(lines, lineterminator="\n")
    levels = [interval.level for interval in forecasts[0].intervals] if forecasts else []
    ends = [f"{end}_{100 * level:g}" for level in levels for end in ("low", "high")]
    writer.writerow(["series", "column", "time", "forecast", *ends])
    for one in forecasts:
        bounds = [values for i in one.intervals for values in (i.low, i.high)]
        n = _decimals(one)
        for step, (time, value) in enumerate(zip(one.times, one.values, strict=True)):
            row: list[Any] = [one.series, one.column, time, _number(value, n)]
            writer.writerow(row + [_number(values[step], n) for values in bounds])
    return lines


def _decimals(one: "SeriesForecast") -> int:
    """Decimals that show what differs in a forecast, and no noise of rounding.

    The scale is the deviation of the history or the width of an interval, whichever is larger; the
    size of the forecast if there is neither.
    """
    import numpy as np

    known = [value for value in one.history if value is not None]
    widths = [
        high - low
        for interval in one.intervals
        for low, high in zip(interval.low, interval.high, strict=True)
        if low is not None and high is not None
    ]
    deviation = float(np.std(known)) if known else 0.0
    scale = max([deviation, *widths]) or max(map(abs, one.values)) or 1.0
    return DIGITS - 1 - math.floor(math.log10(scale))


def _number(value: float | None, decimals: int) -> str:
    """A number without trailing zeros, and without an exponent if its size is an ordinary one."""
    if value is None:
        return ""
    if abs(value) >= LARGEST or decimals > MOST_DECIMALS:
        return f"{value:.{2 * DIGITS}g}"
    text = f"{value:.{max(decimals, 0)}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text

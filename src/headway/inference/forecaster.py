"""Trained forecasters in use: forecasts with dates, units and intervals, and backtests.

`tasks/forecast.py` computes scaled forecasts of windows; the run's calibration makes intervals of
them.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..arguments import checked
from ..config.messages import counted
from ..data.config import Corpus, learned_from
from ..data.frequency import Frequency
from ..data.series import Series
from ..data.store import ArrayColumn, ArrayStore
from ..data.times import time_texts
from ..data.windows import Windows
from ..errors import DataError, HeadwayError, RunError
from ..inspection.report import CommandUse
from ..inspection.series import SeriesInspection
from ..metrics.forecast_errors import ErrorSums
from ..metrics.forecasting import available
from ..metrics.interval import RESAMPLES
from ..metrics.score import Score
from ..models.ensemble import Ensemble
from ..run_config import RunConfig
from ..tasks.forecast import Forecast
from ..tasks.forecast_calibration import Calibration, ForecastBatch, missing_levels
from ..tasks.forecast_floors import floor_models
from .backtest import Backtest
from .base import TrainedModel
from .evaluation import (
    EvaluationOptions,
    EvaluationReport,
    TimedEvaluation,
    scores_to_dict,
    timed,
)
from .floor_scores import (
    DIGITS,
    OWN,
    floor_lines,
    note_of_short_histories,
    seasonal_naive,
    warnings_of_floors,
)
from .forecast_warnings import NO_INTERVALS, warnings_of_dates, warnings_of_forecast
from .series_files import (
    SeriesFile,
    SeriesRow,
    as_csv,
    corpora_of,
    corpus_like,
    last_window,
    read_series,
)
from .series_inputs import rows_of
from .series_inspection import At, inspect_series

AHEAD_LIMIT = 10_000
"""The longest horizon, in steps."""
USUAL_METRICS = ("mse", "mae", "mae_units", "smape", "mase", "coverage", "width_units")
"""The metrics of `evaluate` by default, as far as the data have them."""


@dataclass(frozen=True)
class Interval:
    """A prediction interval: the share of values that it should cover, and its ends per step.

    The ends are None beyond the trained horizon.
    """

    level: float
    low: list[float | None]
    high: list[float | None]


@dataclass(frozen=True)
class SeriesForecast:
    """The forecast of one column of a series, in the units of the data.

    Attributes:
        series: the name of the series; empty if the file has one without a name.
        column: the forecast column.
        times: the time of each step, as ISO text, or the number of the step.
        values: the forecast.
        intervals: prediction intervals, the narrowest first.
        naive: the seasonal naive forecast of the same steps; with less than a season of history,
            the last value where there is none a season before.
        history_times, history: the steps that the model has read; None where a value is missing.
    """

    series: str
    column: str
    times: list[str]
    values: list[float]
    intervals: list[Interval]
    naive: list[float]
    history_times: list[str] = field(repr=False)
    history: list[float | None] = field(repr=False)


class Forecaster(TrainedModel):
    """A model with its scales and windows, made by `headway.load`."""

    commands: ClassVar[Mapping[str, CommandUse]] = {
        "forecast": CommandUse("FILE", "Forecast the steps after the end of a file.")
    }
    forecasts_windows = True
    task: Forecast

    @classmethod
    def verbs_for(cls, config: RunConfig) -> set[str]:
        return {*cls.commands_for(config), "inspect"}

    @property
    def inputs(self) -> tuple[str, ...]:
        return self.task.columns

    @cached_property
    def calibration(self) -> Calibration | None:
        """The intervals of the kept weights; None if the run has no validation data.

        An ensemble has none: the margins of a run are quantiles of its own errors.
        """
        if isinstance(self.model, Ensemble):
            return None
        return Calibration.from_tensors(self.run.load_calibration(), self.task)

    def floors(self) -> dict[str, Any]:
        """The models that scores are printed beside, by name, without the run's own family."""
        models = floor_models(self.task, self.run.load_calibration())
        models.pop(self.config.model.family, None)
        return models

    def evaluate_corpora(
        self, corpora: Sequence[Corpus], root: Path, options: EvaluationOptions
    ) -> EvaluationReport:
        """Scores of every window of a test set, beside those of the floors."""
        names = list(options.metrics or ())
        self.check_metrics(names)
        windows, n_series, found = self._test_windows(corpora, root)
        errors = Backtest(
            self.task,
            {OWN: self.model, **self.floors()},
            windows,
            self.calibration,
            "owa" in names,
        ).run()
        wanted = names or [name for name in USUAL_METRICS if name in available(errors[OWN])]
        scores = {
            model: {
                name: self._score(name, sums)
                for name in wanted
                if model == OWN or name in available(sums)
            }
            for model, sums in errors.items()
        }
        own, n = scores.pop(OWN), errors[OWN].n_windows
        return EvaluationReport(
            own,
            {
                "n": n,
                "series": n_series,
                **self.task.describe(),
                "metrics": scores_to_dict(own),
                "floors": {model: scores_to_dict(each) for model, each in scores.items()},
            },
            f"{counted(n, 'window')} of {n_series:,} series, "
            f"{counted(self.task.config.horizon, 'step')} ahead",
            notes=[
                *floor_lines(own, scores),
                *note_of_short_histories(
                    errors[OWN].by_window["origin"], self.task.inputs.facts.season
                ),
            ],
            warnings=[
                *found,
                *self._missing_levels(),
                *warnings_of_floors(own, scores),
            ],
            remarks=[NO_INTERVALS] if self.ensemble_members else [],
            digits=DIGITS,
            significant=DIGITS,
        )

    def _missing_levels(self) -> list[str]:
        """A warning about levels without intervals; an ensemble has none, which a remark says."""
        is_ensemble = bool(self.ensemble_members)
        return [] if is_ensemble else missing_levels(self.task.config, self.calibration)

    def _score(self, name: str, sums: ErrorSums) -> Score:
        return self.task.find_metric(name)(sums, None, resamples=RESAMPLES)

    def time_evaluation(
        self, corpora: Sequence[Corpus], root: Path, metric: str, tokenized: bool
    ) -> TimedEvaluation:
        windows, *_ = self._test_windows(corpora, root)
        backtest = Backtest(self.task, {OWN: self.model}, windows, None, metric == "owa")
        errors, seconds = timed(backtest.run)
        score = self._score(metric, errors[OWN])
        return TimedEvaluation(
            lambda chosen: score, len(windows), "windows", len(windows) / seconds, "windows"
        )

    def _test_windows(
        self, corpora: Sequence[Corpus], root: Path
    ) -> tuple[Windows, int, list[str]]:
        """The windows of a test set, the number of its series, and warnings about them."""
        rows: list[Any] = []
        sizes, found = [], []
        for corpus in corpora:
            series = self.read(corpus, root)
            self.check(series.rows, series.places, 0)
            rows += series.rows
            sizes.append(len(series.rows))
            found += series.warnings
        training = learned_from(self.config.data)
        windows, _ = self.task.windows(self.in_memory(rows), sizes, corpora, training=training)
        return windows, len(rows), list(dict.fromkeys(found))

    @property
    def step(self) -> str:
        """The step of the training data, which series with a single row do not show."""
        return self.task.inputs.facts.frequency

    def read(self, corpus: Corpus, root: Path) -> SeriesFile:
        """The series of a corpus with the columns of the training data."""
        return read_series(corpus, self.task.codecs, root, self.step)

    def public_info(self) -> dict[str, Any]:
        covariates = [
            name
            for column, codec in self.task.codecs.items()
            if column != "target"
            for name in codec.names  # type: ignore[attr-defined]
        ]
        return {"series": {**self.task.describe(), "covariates": covariates}}

    def own_window(self) -> SeriesRow | None:
        """The last window of the run's newest data, with the true values; None without the file."""
        corpora, root = corpora_of(self.config.data, None)
        try:
            rows = self.read(corpora[0], root).rows
        except HeadwayError:  # the data may be elsewhere by now
            return None
        return last_window(rows[0], self.task.inputs.size.steps)

    def example(self) -> list[str] | None:
        """The last window as a CSV file."""
        row = self.own_window()
        return None if row is None else [as_csv(row)]

    def report_forecasts(self) -> list[Mapping[str, Any]]:
        """The last window of the newest data."""
        row = self.own_window()
        if row is None or isinstance(self.model, Ensemble):
            return []
        try:
            inspection = self.inspect(row, at=-self.task.config.horizon)
        except DataError:  # the window is too short, or has no values
            return []
        return [inspection.plain_window()]

    @checked
    def forecast(
        self,
        series: Any,
        horizon: int | None = None,
        places: Sequence[str] | None = None,
    ) -> list[SeriesForecast]:
        """The steps after the end of each series; one forecast for each of its columns.

        Args:
            series: a file or a frame like those of the training data; an array of numbers with a
                row for each step; or a list of `Series`. With covariates, an element of the list
                has the series of each column of the data by name (`target`, `past`, `known`,
                `static`).
            horizon: number of steps. Default: as trained. Beyond it, forecasts are made from
                forecasts, without intervals.
            places: names of the series in messages, such as `sales.csv:2`.

        Raises:
            DataError: a series has other columns, or no values, or covariates end too early.
            MissingExtra: narwhals, which reads frames, is not installed.
        """
        corpus = corpus_like(self.config.data)
        rows, own_places = rows_of(series, self.task.codecs, corpus, self.step)
        horizon = horizon or self.task.config.horizon
        if not 1 <= horizon <= AHEAD_LIMIT:
            raise DataError(f"a horizon of {horizon} steps; expected 1 to {AHEAD_LIMIT}")
        self.check(rows, places or own_places, horizon)
        rows = [self.with_trained_steps(row) for row in rows]
        return list(chain.from_iterable(self._ahead(rows, horizon))) if rows else []

    def warnings(
        self, rows: Sequence[SeriesRow], places: Sequence[str], horizon: int | None = None
    ) -> list[str]:
        """What users should know of the forecasts of these series."""
        horizon, is_ensemble = horizon or self.task.config.horizon, bool(self.ensemble_members)
        return [
            *(warnings_of_dates(rows, places) if self._had_dates else []),
            *warnings_of_forecast(self.task, self.calibration, rows, places, horizon, is_ensemble),
        ]

    @property
    def _had_dates(self) -> bool:
        """Whether the training data had dates."""
        corpus = corpus_like(self.config.data)
        is_inferred = corpus.frequency is None and self.task.inputs.facts.frequency[-4:] != "step"
        return is_inferred or corpus.time is not None

    def check(
        self, rows: Sequence[Mapping[str, Series]], places: Sequence[str] | None, horizon: int
    ) -> None:
        """Refuses series that this model cannot forecast.

        Raises:
            DataError: naming the first of them.
        """
        for number, row in enumerate(rows):
            where = places[number] if places is not None else f"series {number + 1}"
            for name, codec in self.task.codecs.items():
                if name not in row:
                    raise DataError(
                        f"{where}: no column {name}, which the training data have: "
                        f"{', '.join(codec.names)}"  # type: ignore[attr-defined]
                    )
                if codec.is_blank(row[name]):
                    raise DataError(f"{where}: {name} has no values; give at least one")
                if problem := codec.complaint(row[name]):
                    raise DataError(f"{where}: {problem}")
            self._check_steps(row["target"], where)
            if "known" in row and "known" in self.task.codecs:
                self._check_future(row, where, horizon)

    def _check_steps(self, target: Series, where: str) -> None:
        """Refuses series with other steps than the training data; numbered steps may be any."""
        trained = self.task.inputs.facts.frequency
        is_numbered = target.times.dtype.kind != "M"
        if is_numbered and self.task.config.calendar:
            raise DataError(
                f"{where}: the steps have numbers, and the model reads a calendar; give dates"
            )
        if is_numbered or trained == "step":
            return
        steps = Frequency.parse(trained).dated_like(target.frequency)
        expected = steps.times(target.start, 0, len(target))
        if (expected != target.times).any():
            raise DataError(
                f"{where}: the steps are {target.frequency} long; expected {trained}, as in the "
                "training data: give values at these steps, or train on the others"
            )

    def with_trained_steps(self, row: Mapping[str, Series]) -> Mapping[str, Series]:
        """A row with the step of the training data: a few days do not show that they are weekdays.

        Numbered steps stay, and so does the day that dates months.
        """
        trained = Frequency.parse(self.task.inputs.facts.frequency)
        if trained.unit == "step" or row["target"].times.dtype.kind != "M":
            return row
        steps = trained.dated_like(row["target"].frequency)
        return {name: replace(series, frequency=steps) for name, series in row.items()}

    def _check_future(self, row: Mapping[str, Series], where: str, horizon: int) -> None:
        """Refuses known covariates that end before the horizon."""
        ahead = len(row["known"]) - len(row["target"])
        if ahead < horizon:
            names = ", ".join(row["known"].columns)
            raise DataError(
                f"{where}: {names} must be known for {horizon} steps after the last target, and "
                f"{max(ahead, 0)} are given; add rows with an empty target, or forecast fewer steps"
            )
        future = row["known"].is_missing[len(row["target"]) :][:horizon]
        if future.any():
            step, column = np.argwhere(future)[0]
            time = time_texts(row["known"].times)[len(row["target"]) + step]
            raise DataError(
                f"{where}: {row['known'].columns[column]} is missing at {time}, and it must be "
                "known in the future; fill it in, or forecast fewer steps"
            )

    @checked
    def inspect(  # type: ignore[override]  # not a text
        self,
        series: Series | Mapping[str, Series],
        column: str | None = None,
        at: At = None,
        names: Sequence[str] = (),
        place: str = "series 1",
    ) -> SeriesInspection:
        """One window of a series: its forecast, and the attention of the model.

        Args:
            series: as in `forecast`.
            column: the column to look at. Default: the first.
            at: the first step of the forecast, as a time or as a negative number of steps from the
                end. Default: the step after the end.
            names: the names of the series that a page lists.
            place: the series in messages, such as `sales.csv:2`.

        Raises:
            DataError: there is no such column or time, or the series cannot be forecast.
            ConfigError: this is an ensemble.
        """
        return inspect_series(self, _by_column(series), column, at, names, place)

    def _ahead(
        self, rows: Sequence[Mapping[str, Series]], horizon: int
    ) -> Iterator[list[SeriesForecast]]:
        """The forecasts of the columns of each series."""
        blocks, extended = [self._next_block(rows)], rows
        while len(blocks) * self.task.config.horizon < horizon:
            extended = [_with_targets(row, blocks[-1].values[i]) for i, row in enumerate(extended)]
            blocks.append(self._next_block(extended))
        values = np.concatenate([block.values for block in blocks], axis=1)[:, :horizon]
        for i, row in enumerate(rows):
            ends = {level: each[i] for level, each in blocks[0].intervals.items()}
            naive = self._seasonal_naive(row["target"], horizon)
            yield [
                self._column_forecast(row["target"], c, values[i, :, c], naive[:, c], ends)
                for c in range(values.shape[2])
            ]

    def _column_forecast(
        self,
        target: Series,
        c: int,
        values: np.ndarray,
        naive: np.ndarray,
        ends: Mapping[float, np.ndarray],
    ) -> SeriesForecast:
        n, read, horizon = len(target), self.task.inputs.size.history, len(values)
        first = max(0, n - read)
        times = target.frequency.times(target.start, first, n - first + horizon)
        texts = time_texts(times)
        history = target.values[first:, c]
        return SeriesForecast(
            target.name,
            target.columns[c],
            texts[n - first :],
            values.tolist(),
            [
                Interval(level, *(_padded(each[:, c, side], horizon) for side in (0, 1)))
                for level, each in ends.items()
            ],
            naive.tolist(),
            texts[: n - first],
            [None if np.isnan(value) else float(value) for value in history],
        )

    def _next_block(self, rows: Sequence[Mapping[str, Series]]) -> "_Block":
        """The forecasts of the steps that the model predicts at once."""
        windows = self.windows_after(rows)
        found: dict[Any, list[np.ndarray]] = defaultdict(list)
        for own in self.task.backtest(self.model, windows):
            found["values"].append(self.in_units(windows, own, own.point))
            for level, low, high in self.calibration.intervals(own) if self.calibration else ():
                ends = [self.in_units(windows, own, end) for end in (low, high)]
                found[level].append(np.stack(ends, axis=-1))
        whole = {
            name: _by_series(np.concatenate(parts), len(rows)) for name, parts in found.items()
        }
        return _Block(whole.pop("values"), whole)

    def _seasonal_naive(self, target: Series, horizon: int) -> np.ndarray:
        """The seasonal naive forecast from the true history (H, C).

        A column without a value has the mean of the training data.
        """
        naive = seasonal_naive(target.values, self.task.inputs.facts.season, horizon)
        return np.where(np.isnan(naive), self.task.inputs.target.mean, naive)

    def windows_after(self, rows: Sequence[SeriesRow]) -> Windows:
        """The window after the end of each series."""
        store = self.in_memory(rows)
        ends = store.lengths("target")
        spans = np.stack([ends, ends + self.task.config.horizon], axis=1)
        return self.task.windows_at(store, spans)

    def in_memory(self, rows: Sequence[SeriesRow]) -> ArrayStore:
        """Encoded series as a store."""
        codecs = dict(self.task.codecs)
        sources = {name: name for name in codecs}
        for name, (source, codec) in self.task.derived.items():
            codecs[name], sources[name] = codec, source
        columns = {
            name: ArrayColumn(
                codec.column(name), codec.encode_batch([row[sources[name]] for row in rows])
            )
            for name, codec in codecs.items()
        }
        return ArrayStore(columns, len(rows))

    def in_units(self, windows: Windows, batch: ForecastBatch, scaled: np.ndarray) -> np.ndarray:
        """Scaled values (B, H, C) in the units of the data.

        Raises:
            RunError: one is no finite number.
        """
        if not np.isfinite(scaled).all():
            raise RunError(
                f"{self.run.path}: a forecast is infinite or NaN, expected finite numbers; the "
                "weights are damaged or the training has diverged: train again, with a lower "
                "train.lr"
            )
        scale, offset = self.task.units(windows, batch)
        return scaled * scale + offset


@dataclass(frozen=True)
class _Block:
    """Steps that are predicted at once (n, H, C), and their intervals (n, H, C, 2) by level."""

    values: np.ndarray
    intervals: Mapping[float, np.ndarray]


def _by_column(one: Series | Mapping[str, Series]) -> Mapping[str, Series]:
    return {"target": one} if isinstance(one, Series) else one


def _with_targets(row: Mapping[str, Series], values: np.ndarray) -> Mapping[str, Series]:
    """A series continued by forecasts (H, C)."""
    target = row["target"]
    return {**row, "target": replace(target, values=np.concatenate([target.values, values]))}


def _padded(values: np.ndarray, n: int) -> list[float | None]:
    """The first `n` values, and None for those that there are not."""
    return [*values[:n].tolist(), *[None] * (n - len(values))]


def _by_series(windows: np.ndarray, n: int) -> np.ndarray:
    """Windows (N, H, c, ...) of n series, in their order, as (n, H, C, ...)."""
    _, horizon, channels, *rest = windows.shape
    each = windows.reshape(n, -1, horizon, channels, *rest).swapaxes(1, 2)
    return each.reshape(n, horizon, -1, *rest)

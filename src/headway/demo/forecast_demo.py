"""The demo that forecasts a measured series: the length of the day, beside its floors.

`recipes/day-length.toml` has the same settings as a run file. `earth_rotation.py` reads the data.
"""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..data.config import DataConfig, as_corpora
from ..inference.evaluation import EvaluationOptions, EvaluationReport
from ..inference.forecaster import Forecaster
from ..inference.series_files import read_series
from ..metrics.score import Score
from ..models.encoder import EncoderConfig
from ..nn.inputs import VectorInputConfig
from ..run_config import RunConfig
from ..tasks.config import ForecastConfig
from ..training.config import TrainConfig
from ..view.report import Command, Sample
from .base import Demo, DemoFindings
from .earth_rotation import read_day_lengths, write_day_lengths

FORECAST_STEPS = 320
HORIZON = 60
# After 355 days the Moon is again as full and as near: no other season makes the seasonal naive
# forecast as good.
SEASON = 355
SPLIT: tuple[float | str, ...] = ("2017-01-01", "2021-01-01")
METRICS = ("mae_units", "mase", "coverage")
LEVEL = 0.9
SHOWN_DAYS = (1, 7, 14, 30, 45, 60)


@dataclass(frozen=True)
class _Day:
    """A day of the forecast beside its measurement."""

    date: str
    ahead: int
    forecast: float
    low: float
    high: float
    measured: float

    @property
    def sample(self) -> Sample:
        days = "day" if self.ahead == 1 else "days"
        return Sample(
            f"{self.date}, {self.ahead} {days} ahead",
            f"{self.forecast:.0f} µs ({LEVEL:.0%}: {self.low:.0f} to {self.high:.0f})",
            expected=f"{self.measured:.0f} µs",
        )


@dataclass(frozen=True)
class ForecastDemo(Demo):
    """A demo that forecasts one column of one series."""

    unit = ""

    def examine(self, model: Forecaster) -> DemoFindings:
        corpora = as_corpora(model.config.data.test, "data.test")
        root = Path(model.config.data.root or ".")
        report = model.evaluate_corpora(corpora, root, EvaluationOptions(METRICS))
        floors = dict(_floors(report))
        days = _last_days(model, root)
        n_inside = sum(day.low <= day.measured <= day.high for day in days)
        return DemoFindings(
            scores={
                f"Test set: {report.summary}": dict(report.scores),
                **{f"{name}, on the same windows": scores for name, scores in floors.items()},
            },
            metrics={
                **report.scores,
                **{f"{m}_{name}": s for name, scores in floors.items() for m, s in scores.items()},
            },
            rows=[day.sample for day in days],
            remarks=[f"{n_inside} of {len(days)} measurements above are in their interval"],
            warnings=list(report.warnings),
        )

    def commands(self, run: Path, rows: Sequence[Sample]) -> list[Command]:
        path = shlex.quote(str(run))
        return [
            Command(f"headway forecast {path}", "The days after the end of the data, as CSV."),
            Command(f"headway forecast {path} --horizon 120 --json", "Further ahead, as JSON."),
            Command(
                f"headway view {path} --at -{HORIZON} --out page.html",
                "Forecast and attention of the last days, as a page.",
            ),
            Command(f"headway serve {path}", "The live page: drop a CSV file of your own."),
            Command(f"headway evaluate {path}", "Score it on the test set again."),
            Command(f"headway info {path}", "What is in the run directory."),
            Command("headway train RUN.toml --out runs/mine", "Train on a table of your own."),
        ]


def forecast_demo(seed: int = 1, steps: int = FORECAST_STEPS) -> ForecastDemo:
    """The demo that forecasts the length of the day, two months ahead."""
    lengths = read_day_lengths()
    return ForecastDemo(
        name="forecast",
        title="The length of the day",
        about="How much longer than 86,400 seconds each of the next 60 days is, in microseconds. "
        "The tides change it every two weeks, winds over the year.",
        config=forecast_config(seed, steps),
        write=lambda folder: write_day_lengths(lengths, folder),
    )


def forecast_config(seed: int = 1, steps: int = FORECAST_STEPS) -> RunConfig:
    """The settings of the forecast, as in `recipes/day-length.toml`."""
    return RunConfig(
        task="forecast",
        data=DataConfig(train="days.csv"),
        seed=seed,
        # The length of the day wanders, and its tides have one size: the last value is its level.
        forecast=ForecastConfig(
            horizon=HORIZON, season=SEASON, split=list(SPLIT), normalise="last", loss="mse"
        ),
        model=EncoderConfig(
            preset="series",
            pooling="all",
            shortcut=False,
            dropout=0.1,
            input=VectorInputConfig(patch=8),
        ),
        train=TrainConfig(steps=steps, evaluate_every=max(1, steps // 8)),
    )


def _floors(report: EvaluationReport) -> Iterator[tuple[str, dict[str, Score]]]:
    """The scores of each floor; floors have no intervals of their own."""
    for name, scores in report.record["floors"].items():
        yield name, {m: Score(report.scores[m].name, **score) for m, score in scores.items()}


def _end(ends: Sequence[float | None], ahead: int) -> float:
    """The end of an interval within the trained horizon, where there is one."""
    end = ends[ahead - 1]
    assert end is not None
    return end


def _last_days(model: Forecaster, root: Path) -> list[_Day]:
    """Days at the end of the data, forecast from those before the last horizon."""
    [corpus] = as_corpora(model.config.data.test, "data.test")
    [row] = read_series(corpus, model.task.codecs, root).rows
    target, horizon = row["target"], model.task.config.horizon
    [made] = model.forecast([replace(target, values=target.values[:-horizon])])
    [interval] = [interval for interval in made.intervals if interval.level == LEVEL]
    return [
        _Day(
            made.times[ahead - 1],
            ahead,
            made.values[ahead - 1],
            _end(interval.low, ahead),
            _end(interval.high, ahead),
            float(target.values[ahead - 1 - horizon, 0]),
        )
        for ahead in SHOWN_DAYS
    ]

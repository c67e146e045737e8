"""The result of a comparison: values over seeds, as tables, as JSON and as pictures.

Plain data in, text out; `run.py` trains and `evaluate.py` scores. The interval over seeds is from
the lowest to the highest value, because two or three values allow no assumption about their
distribution.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from ..errors import ConfigError
from ..metrics.score import Score
from ..view.svg_charts import Mark, lines, points
from ..view.text_table import aligned, piped
from .evaluate import LengthScore, RunEvaluation, ScoredSet

NOTHING = "-"
SETS = {"test": "test set", "valid": "validation set"}


@dataclass(frozen=True)
class Budget:
    """The training budget of every run; without either, each run file has its own."""

    minutes: float | None = None
    steps: int | None = None

    def __post_init__(self) -> None:
        if self.minutes is not None and self.steps is not None:
            raise ConfigError(
                f"a budget of {self.minutes:g} minutes and one of {self.steps} steps: give "
                "minutes or steps, not both"
            )
        for name, value in (("minutes", self.minutes), ("steps", self.steps)):
            if value is not None and not 0 < value < math.inf:
                raise ConfigError(f"a budget of {value:g} {name}: expected a number above 0")

    @property
    def words(self) -> str:
        if self.minutes is not None:
            return f"{self.minutes:g} minutes each"
        return f"{self.steps:,} updates each" if self.steps is not None else "as each run file says"

    def to_dict(self) -> dict[str, float] | None:
        known = {"minutes": self.minutes, "steps": self.steps}
        return {name: value for name, value in known.items() if value is not None} or None


@dataclass(frozen=True)
class ComparedRun:
    """One run: a run file with one seed.

    Attributes:
        judged: its evaluation.
        updates: number of training updates; None for models that learn by counting.
        speed: tokens per second in training, the median of the log.
        minutes_to_best: minutes until the best validation; None without validations.
        minutes: minutes of training, validations included.
        machine: the device, threads and machine of its training.
    """

    seed: int
    run: Path
    judged: RunEvaluation
    parameters: int | None
    updates: int | None
    speed: float | None
    minutes_to_best: float | None
    minutes: float | None
    machine: str

    def to_dict(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "run": str(self.run),
            "score": _finite(self.judged.score.to_dict()),
            "parameters": self.parameters,
            "updates": self.updates,
            "train_tokens_per_second": self.speed,
            "decode_per_second": self.judged.speed,
            "minutes_to_best": self.minutes_to_best,
            "minutes": self.minutes,
            "machine": self.machine,
            "notes": list(self.judged.notes),
        }


@dataclass(frozen=True)
class Failure:
    """A run that failed, or a run file that could not be read: then seed and run are None."""

    error: str
    seed: int | None = None
    run: Path | None = None

    def to_dict(self) -> dict[str, Any]:
        run = None if self.run is None else str(self.run)
        return {"seed": self.seed, "run": run, "error": self.error}


@dataclass(frozen=True)
class ComparisonRow:
    """All runs of one run file."""

    name: str
    file: Path
    runs: tuple[ComparedRun, ...]
    failures: tuple[Failure, ...] = ()

    @property
    def scores(self) -> list[Score]:
        return [run.judged.score for run in self.runs]

    @property
    def value(self) -> float | None:
        """The mean over seeds."""
        return fmean(score.value for score in self.scores) if self.runs else None

    def mark(self) -> Mark:
        """The mean, the interval of the test set and the values of the seeds."""
        mark = _mean(self.scores)
        values = [score.value for score in self.scores]
        return Mark(mark.value, mark.low, mark.high, values if len(values) > 1 else ())

    def mean_of(self, figure: Callable[[ComparedRun], float | None]) -> float | None:
        """The mean over seeds of a value; None unless all of them have it."""
        values = [value for run in self.runs if (value := figure(run)) is not None]
        return fmean(values) if values and len(values) == len(self.runs) else None

    def by_length(self) -> list[tuple[LengthScore, Mark]]:
        """Each bucket, taken from the first seed, and its mean score over seeds."""
        columns = zip(*(run.judged.by_length for run in self.runs), strict=True)
        return [(column[0], _mean([part.score for part in column])) for column in columns]

    def to_dict(self) -> dict[str, Any]:
        mark, values = (self.mark(), [s.value for s in self.scores]) if self.runs else (None, [])
        return {
            "name": self.name,
            "file": str(self.file),
            **_finite(_ends(mark)),
            "seeds": _finite({"low": min(values), "high": max(values)}) if values else None,
            "parameters": self.runs[0].parameters if self.runs else None,
            "updates": self.mean_of(lambda run: run.updates),
            "train_tokens_per_second": self.mean_of(lambda run: run.speed),
            "decode_per_second": self.mean_of(lambda run: run.judged.speed),
            "minutes_to_best": self.mean_of(lambda run: run.minutes_to_best),
            "minutes": self.mean_of(lambda run: run.minutes),
            "by_length": [
                {"low": part.low, "high": part.high, "n": part.n, "score": _finite(_ends(mark))}
                for part, mark in self.by_length()
            ],
            "runs": [run.to_dict() for run in self.runs],
            "failures": [failure.to_dict() for failure in self.failures],
        }


@dataclass(frozen=True)
class Comparison:
    """The comparison of run files.

    Attributes:
        rows: the best first, those without a score last.
        seeds: the requested number for each run file.
    """

    task: str
    metric: str
    scored_set: ScoredSet
    budget: Budget
    seeds: int
    rows: tuple[ComparisonRow, ...]

    @classmethod
    def of(
        cls,
        rows: Sequence[ComparisonRow],
        *,
        task: str,
        metric: str,
        scored_set: ScoredSet,
        budget: Budget,
        seeds: int,
    ) -> "Comparison":
        """The comparison with its rows in order."""
        lower = any(run.judged.lower_is_better for row in rows for run in row.runs)

        def sort_key(row: ComparisonRow) -> float:
            if row.value is None or math.isnan(row.value):
                return math.inf
            return row.value if lower else -row.value

        ordered = tuple(sorted(rows, key=sort_key))
        return cls(task, metric, scored_set, budget, seeds, ordered)

    @property
    def failures(self) -> list[tuple[str, Failure]]:
        """All failures, with the name of their run file."""
        return [(row.name, failure) for row in self.rows for failure in row.failures]

    @property
    def runs(self) -> list[ComparedRun]:
        return [run for row in self.rows for run in row.runs]

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain data."""
        first = self.runs[0].judged if self.runs else None
        return {
            "task": self.task,
            "metric": self.metric,
            "lower_is_better": first.lower_is_better if first else None,
            "set": self.scored_set,
            "n": first.n if first else None,
            "n_counts": first.n_of if first else None,
            "budget": self.budget.to_dict(),
            "seeds": self.seeds,
            "decode_counts": first.speed_of if first else None,
            "length_unit": first.length_unit if first and first.by_length else None,
            "rows": [row.to_dict() for row in self.rows],
        }

    def text(self) -> str:
        """Tables for a terminal."""
        return "\n\n".join(
            [
                self.summary(),
                *("\n".join(aligned(table)) for table in self._tables()),
                "\n".join([*self._legend(), *self._failed()]),
            ]
        )

    def markdown(self) -> str:
        """Tables for a page, with links to the pictures in the same folder."""
        main, *lengths = ("\n".join(piped(table)) for table in self._tables())
        parts = [self.summary(), main]
        if self.runs:
            parts.append("![Quality with intervals](compare.svg)")
        if lengths:
            parts += [*lengths, "![Quality by input length](by-length.svg)"]
        parts.append("\n".join(f"- {line}" for line in [*self._legend(), *self._failed()]))
        return "\n\n".join(parts) + "\n"

    def summary(self) -> str:
        """Metric, set and budget in one sentence."""
        if not self.runs:
            return f"{self.metric} on the {SETS[self.scored_set]}: no run finished"
        evaluation = self.runs[0].judged
        seeds = f"; {self.seeds} seeds each" if self.seeds > 1 else ""
        return (
            f"{evaluation.score.name} on the {SETS[self.scored_set]} "
            f"({evaluation.n:,} {evaluation.n_of}), {self._better()}; "
            f"budget: {self.budget.words}{seeds}"
        )

    def picture(self) -> str:
        """The value of each run file with its interval, as SVG."""
        label = f"{self._name()} on the {SETS[self.scored_set]}, {self._better()}; bars: 95%"
        if self.seeds > 1:
            label += "; circles: seeds"
        marks = {row.name: row.mark() for row in self.rows if row.runs}
        title = f"{self._name()}, budget: {self.budget.words}"
        return points(marks, title, label, self._digits())

    def length_picture(self) -> str | None:
        """Scores by input length, as SVG; None if they were not requested."""
        rows = [row for row in self.rows if row.runs and row.by_length()]
        if not rows:
            return None
        series = {row.name: [mark for _, mark in row.by_length()] for row in rows}
        labels = [part.label for part, _ in rows[0].by_length()]
        unit = rows[0].runs[0].judged.length_unit
        title = f"{self._name()} by input length, budget: {self.budget.words}"
        label = f"{unit} in the input; {self._better()}; bars: 95%"
        return lines(series, labels, title, label, self._digits())

    def _name(self) -> str:
        return self.runs[0].judged.score.name if self.runs else self.metric

    def _better(self) -> str:
        return "less is better" if self.runs[0].judged.lower_is_better else "more is better"

    def _digits(self) -> int:
        """Decimals of scores; small values, such as bits, differ in the third."""
        return 3 if all(abs(run.judged.score.value) < 10 for run in self.runs) else 2

    def _tables(self) -> Iterator[list[list[str]]]:
        yield list(self._main_table())
        if any(row.runs and row.by_length() for row in self.rows):
            yield list(self._length_table())

    def _main_table(self) -> Iterator[list[str]]:
        digits = self._digits()
        yield [
            "run",
            self._name(),
            "95%",
            *(["seeds"] if self.seeds > 1 else []),
            "parameters",
            "updates",
            "train/s",
            "decode/s",
            "best at",
            "minutes",
        ]
        for row in self.rows:
            mark = row.mark() if row.runs else None
            seeds = []
            if self.seeds > 1:
                seeds = [_range(row.scores, self.seeds, digits)]
            yield [
                row.name,
                f"{mark.value:.{digits}f}" if mark else "failed",
                _interval(mark, digits),
                *seeds,
                _number(row.mean_of(lambda run: run.parameters), ",.0f"),
                _number(row.mean_of(lambda run: run.updates), ",.0f"),
                _number(row.mean_of(lambda run: run.speed), ",.0f"),
                _number(row.mean_of(lambda run: run.judged.speed), ",.0f"),
                _number(row.mean_of(lambda run: run.minutes_to_best), ".1f"),
                _number(row.mean_of(lambda run: run.minutes), ".1f"),
            ]

    def _length_table(self) -> Iterator[list[str]]:
        digits = self._digits() - 1
        rows = [row for row in self.rows if row.runs]
        parts = [part for part, _ in rows[0].by_length()]
        unit = rows[0].runs[0].judged.length_unit
        yield [f"by {unit}", *(part.label for part in parts)]
        yield ["inputs", *(f"{part.n:,}" for part in parts)]
        for row in rows:
            marks = [mark for _, mark in row.by_length()]
            cells = (f"{mark.value:.{digits}f} {_interval(mark, digits)}" for mark in marks)
            yield [row.name, *(cell.removesuffix(f" {NOTHING}") for cell in cells)]

    def _legend(self) -> Iterator[str]:
        """The explanation of the columns."""
        if not self.runs:
            return
        if self.seeds > 1:
            yield (
                f"{self._name()}: mean over seeds; 95%: interval of the test data, mean of the "
                "seeds' own; seeds: lowest to highest."
            )
        else:
            yield "95%: interval of the test data; it does not include the variation between seeds."
        yield (
            "train/s: tokens per second in training (median of the log); decode/s: "
            f"{self.runs[0].judged.speed_of} per second while scoring. Tokens are each run's own."
        )
        yield "best at: minutes until the best validation; minutes: of training and validations."
        if self.budget.to_dict() is None:
            yield "Each run file sets its own budget; budgets may differ."
        if self.scored_set == "valid":
            yield "The run files name no data.test: these data also chose the weights."
        for row in self.rows:
            for note in dict.fromkeys(note for run in row.runs for note in run.judged.notes):
                yield f"{row.name}: {note}."
        signatures = sorted({run.judged.score.signature for run in self.runs})
        yield f"Signature of {self._name()}: {'; '.join(signatures)}."
        machines = sorted({run.machine for run in self.runs})
        yield f"Trained on {'; '.join(machines)}."

    def _failed(self) -> Iterator[str]:
        for name, failure in self.failures:
            seed = "" if failure.seed is None else f", seed {failure.seed}"
            yield f"failed: {name}{seed}: {failure.error}"


def _mean(scores: Sequence[Score]) -> Mark:
    """Means of values and of the ends of intervals; no interval unless all scores have one."""
    lows = [score.low for score in scores if score.low is not None]
    highs = [score.high for score in scores if score.high is not None]
    has_ends = len(lows) == len(highs) == len(scores)
    return Mark(
        fmean(score.value for score in scores),
        fmean(lows) if has_ends else None,
        fmean(highs) if has_ends else None,
    )


def _ends(mark: Mark | None) -> dict[str, float | None]:
    if mark is None:
        return {"value": None, "low": None, "high": None}
    return {"value": mark.value, "low": mark.low, "high": mark.high}


def _finite(record: dict[str, Any]) -> dict[str, Any]:
    """A record with None for values that are not finite: JSON has no infinity."""
    odd = {k for k, v in record.items() if isinstance(v, float) and not math.isfinite(v)}
    return {key: None if key in odd else value for key, value in record.items()}


def _interval(mark: Mark | None, digits: int) -> str:
    if mark is None or mark.low is None or mark.high is None:
        return NOTHING
    return f"[{mark.low:.{digits}f}, {mark.high:.{digits}f}]"


def _range(scores: Sequence[Score], seeds: int, digits: int) -> str:
    values = [score.value for score in scores]
    if not values:
        return NOTHING
    short = f" ({len(values)} of {seeds})" if len(values) < seeds else ""
    return f"{min(values):.{digits}f}..{max(values):.{digits}f}{short}"


def _number(value: float | None, form: str) -> str:
    return NOTHING if value is None else format(value, form)

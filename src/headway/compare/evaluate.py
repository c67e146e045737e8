"""Score and speed of a trained run, also by input length. The model of the task computes the score.

`result.py` makes tables and pictures of these values.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..data.config import Corpus, as_corpora
from ..errors import ConfigError
from ..inference.base import TrainedModel
from ..inference.evaluation import TimedEvaluation, read_rows
from ..inference.load import load
from ..metrics.score import Score
from ..run_config import RunConfig, load_run_config
from ..runs import RunDir
from .by_length import ByLength, buckets, measure_lengths

ScoredSet = Literal["test", "valid"]


@dataclass(frozen=True)
class LengthScore:
    """The score of `n` inputs of lengths from `low` to `high`, both included."""

    low: int
    high: int
    label: str
    n: int
    score: Score


@dataclass(frozen=True)
class ScoringOptions:
    """How runs are scored.

    Attributes:
        by_length: also score by the length of the input.
        tokenized: the references are already tokenised; BLEU uses them unchanged.
        metric: the metric of all runs of a comparison. Default: that of `metric_of`.
    """

    by_length: ByLength | None = None
    tokenized: bool = False
    metric: str | None = None


PLAIN = ScoringOptions()


@dataclass(frozen=True)
class RunEvaluation:
    """The score and the speed of a run.

    Attributes:
        metric: its name in run files.
        n: the size of the set, in units of `n_of`.
        speed: number of `speed_of` per second during scoring.
        speed_of: the unit of the speed, such as "output tokens".
        by_length: scores by input length, short to long; empty unless requested.
        length_unit: the unit of lengths, such as "words".
        notes: remarks for the reader of the score.
    """

    metric: str
    score: Score
    lower_is_better: bool
    n: int
    speed: float | None
    speed_of: str
    by_length: tuple[LengthScore, ...] = ()
    length_unit: str = ""
    n_of: str = "inputs"
    notes: tuple[str, ...] = ()


def evaluate_run(run: str | Path, options: ScoringOptions = PLAIN) -> RunEvaluation:
    """The evaluation of a finished run on its test set, or else on its validation set.

    Raises:
        HeadwayError: the run cannot be used, or its data cannot be read.
    """
    config = load_run_config(RunDir.open(run))
    metric, root = options.metric or metric_of(config), Path(config.data.root or ".")
    corpora = scored_corpora(config)
    model: TrainedModel = load(run)
    timed = model.time_evaluation(corpora, root, metric, options.tokenized)
    lengths, unit = _lengths(timed)
    parts = buckets(lengths, options.by_length) if options.by_length is not None else []
    return RunEvaluation(
        metric=metric,
        score=timed.score(None),
        lower_is_better=model.task.prefers_less(metric),
        n=timed.n,
        n_of=timed.n_of,
        speed=timed.speed,
        speed_of=timed.speed_of,
        by_length=tuple(
            LengthScore(b.low, b.high, b.label, len(b.rows), timed.score(b.rows)) for b in parts
        ),
        length_unit=unit,
        notes=timed.notes,
    )


def _lengths(timed: TimedEvaluation) -> tuple[list[int], str]:
    """The length of each input, and the unit; none if only the whole set has a score."""
    if timed.steps is not None:
        return list(timed.steps), "steps"
    return ([], "") if timed.inputs is None else measure_lengths(timed.inputs)


def metric_of(config: RunConfig) -> str:
    """The metric for comparing runs: that of the run file, or one that fits the references.

    It is never the loss, which depends on the vocabulary.
    """
    metric = config.train.metric
    if metric not in ("auto", "loss"):
        return metric
    task, root = config.make_task(), Path(config.data.root or ".")
    corpora = scored_corpora(config)
    rows = read_rows(corpora, task.columns_of(corpora, root), root)
    return task.comparison_metric(row.values[-1] for row in rows)


def scored_corpora(config: RunConfig) -> tuple[Corpus, ...]:
    """The corpora that a run is scored on."""
    name = scored_set(config)
    return as_corpora(getattr(config.data, name), f"data.{name}")


def scored_set(config: RunConfig) -> ScoredSet:
    """The set that a run is scored on.

    Raises:
        ConfigError: the run file names neither test nor validation data.
    """
    if config.data.test:
        return "test"
    if config.data.valid:
        return "valid"
    raise ConfigError("there is nothing to score on: give data.test, or at least data.valid")

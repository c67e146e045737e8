"""How good and how fast a trained run is, by length too. What a task scores is its model's own.

What is made of the figures is left to `result.py`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..data.config import as_corpora
from ..errors import ConfigError
from ..inference.base import TrainedModel
from ..inference.load import load
from ..metrics.score import Score
from ..run_config import RunConfig, load_run_config
from ..runs import RunDir
from .by_length import ByLength, buckets, measured

ScoredSet = Literal["test", "valid"]


@dataclass(frozen=True)
class LengthScore:
    """The score of `n` inputs whose lengths are between `low` and `high`, both included."""

    low: int
    high: int
    label: str
    n: int
    score: Score


@dataclass(frozen=True)
class Way:
    """How runs are judged.

    Attributes:
        by_length: also by the length of the input.
        tokenized: the references are tokenised already: BLEU takes them as they are.
    """

    by_length: ByLength | None = None
    tokenized: bool = False


PLAIN = Way()


@dataclass(frozen=True)
class RunEvaluation:
    """What a run reached.

    Attributes:
        metric: as run files name it.
        n: how much was scored, in `n_of`.
        speed: of `speed_of` per second, while the set was worked through.
        speed_of: what is counted, such as "output tokens".
        by_length: by the length of the input, short to long; empty unless asked for.
        length_unit: what lengths count, such as "words".
        notes: what a reader of the score has to know.
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


def judged(run: str | Path, way: Way = PLAIN) -> RunEvaluation:
    """The figures of a finished run on its test set, or else on its validation set.

    Raises:
        HeadwayError: the run cannot be used, or its data cannot be read.
    """
    config = load_run_config(RunDir.open(run))
    name, metric, root = scored_set(config), metric_of(config), Path(config.data.root or ".")
    corpora = as_corpora(getattr(config.data, name), f"data.{name}")
    model: TrainedModel = load(run)
    found = model.time_evaluation(corpora, root, metric, way.tokenized)
    lengths, unit = ([], "") if found.inputs is None else measured(found.inputs)
    parts = buckets(lengths, way.by_length) if way.by_length is not None else []
    return RunEvaluation(
        metric=metric,
        score=found.score(None),
        lower_is_better=model.task.prefers_less(metric),
        n=found.n,
        n_of=found.n_of,
        speed=found.speed,
        speed_of=found.speed_of,
        by_length=tuple(
            LengthScore(b.low, b.high, b.label, len(b.rows), found.score(b.rows)) for b in parts
        ),
        length_unit=unit,
        notes=found.notes,
    )


def metric_of(config: RunConfig) -> str:
    """What runs are compared by; a loss depends on the vocabulary and compares nothing."""
    metric = config.train.metric
    if metric not in ("auto", "loss"):
        return metric
    return config.make_task().comparison_metric


def scored_set(config: RunConfig) -> ScoredSet:
    """Which data a run is scored on.

    Raises:
        ConfigError: it names none.
    """
    if config.data.test is not None:
        return "test"
    if config.data.valid is not None:
        return "valid"
    raise ConfigError("there is nothing to score on: give data.test, or at least data.valid")

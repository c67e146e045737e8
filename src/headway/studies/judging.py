"""How good and how fast a trained run is: the one place of a comparison that knows tasks.

A task is one function in `JUDGES`. What is made of its figures is left to `comparison.py`.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..api import Predictor, RunConfig, load
from ..api.config import stored_config
from ..data.corpora import as_corpora
from ..data.read import Row, read_whole
from ..errors import ConfigError
from ..metrics.interval import RESAMPLES
from ..metrics.score import Score
from ..runs import RunDir
from .lengths import ByLength, buckets, measured

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
class Judged:
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


def judged(run: str | Path, way: Way = PLAIN) -> Judged:
    """The figures of a finished run on its test set, or else on its validation set.

    Raises:
        HeadwayError: the run cannot be used, or its data cannot be read.
    """
    config = stored_config(RunDir.open(run))
    return JUDGES[config.task](run, config, way)


def metric_of(config: RunConfig) -> str:
    """What runs are compared by; a loss depends on the vocabulary and compares nothing."""
    metric = config.train.metric
    if metric not in ("auto", "loss"):
        return metric
    return COMPARED.get(config.task) or next(m for m in config.kind.validated if m != "loss")


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


def scored_rows(config: RunConfig) -> Iterator[Row]:
    """The rows of the data a run is scored on; a running text is one."""
    name, root = scored_set(config), Path(config.data.root or ".")
    corpora = as_corpora(getattr(config.data, name), f"data.{name}")
    columns = config.kind.columns_of(corpora, root)
    for corpus in corpora:
        yield from read_whole(corpus, columns, root)


def _judged_translation(run: str | Path, config: RunConfig, way: Way) -> Judged:
    """Outputs by the run's own search, judged whole and by source length."""
    metric, translator = metric_of(config), load(run)
    rows = list(scored_rows(config))
    sources, references = ([row.values[i] for row in rows] for i in (0, 1))
    started = time.perf_counter()
    # Refusing a long line here would cost a run that has been trained.
    found = translator.translate(sources, "split", [row.where for row in rows])
    seconds = time.perf_counter() - started

    def score(chosen: Sequence[int]) -> Score:
        outputs = [found[i].text for i in chosen]
        answers = [references[i] for i in chosen]
        return translator.task.judge(metric, outputs, answers, way.tokenized, RESAMPLES)

    lengths, unit = measured(sources)
    parts = buckets(lengths, way.by_length) if way.by_length is not None else []
    return Judged(
        metric=metric,
        score=score(range(len(rows))),
        lower_is_better=metric in translator.task.lower_is_better,
        n=len(rows),
        speed=sum(len(one.outputs[0].tokens) for one in found) / seconds,
        speed_of="output tokens",
        by_length=tuple(
            LengthScore(b.low, b.high, b.label, len(b.rows), score(b.rows)) for b in parts
        ),
        length_unit=unit,
    )


def _judged_language(run: str | Path, config: RunConfig, way: Way) -> Judged:
    """How well texts are predicted. Nothing is decoded: the speed is that of forced scoring."""
    metric, model = metric_of(config), load(run)
    texts = [row.values[0] for row in scored_rows(config) if row.values[0].strip()]
    started = time.perf_counter()
    found = model.evaluate(texts, [metric], resamples=RESAMPLES)
    seconds = time.perf_counter() - started
    notes: tuple[str, ...] = ()
    if found.n_unknown:
        unknown = f"{found.n_unknown:,} of {found.n_tokens:,} tokens are unknown to its tokenizer"
        notes = (f"{unknown}, which makes the figure too good",)
    return Judged(
        metric=metric,
        score=found.scores[metric],
        lower_is_better=metric in model.task.lower_is_better,
        n=sum(len(text) + 1 for text in texts),
        n_of="characters",
        speed=found.n_tokens / seconds,
        speed_of="scored tokens",
        notes=notes,
    )


def _judged_outputs(run: str | Path, config: RunConfig, way: Way) -> Judged:
    """Labels, tags, answers or values against the right ones, whole and by the length of the
    input."""
    metric = metric_of(config)
    predictor: Predictor = load(run)
    rows = [row for row in scored_rows(config) if any(map(str.strip, row.values))]
    inputs = [predictor.input(row.values) for row in rows]
    references, places = [row.values[-1] for row in rows], [row.where for row in rows]
    predictor.check(inputs, references, places)
    started = time.perf_counter()
    # Refusing a long text here would cost a run that has been trained.
    found = predictor.predict(inputs, "cut", places)
    seconds = time.perf_counter() - started
    outputs = [predictor.output(one) for one in found]
    right = [predictor.right(reference) for reference in references]

    def score(chosen: Sequence[int]) -> Score:
        judged: Score = predictor.task.judge(
            metric, [outputs[i] for i in chosen], [right[i] for i in chosen], RESAMPLES
        )
        return judged

    lengths, unit = measured([" ".join(row.values[:-1]) for row in rows])
    parts = buckets(lengths, way.by_length) if way.by_length is not None else []
    return Judged(
        metric=metric,
        score=score(range(len(rows))),
        lower_is_better=metric in predictor.task.lower_is_better,
        n=len(rows),
        speed=len(rows) / seconds,
        speed_of=predictor.nouns[0],
        by_length=tuple(
            LengthScore(b.low, b.high, b.label, len(b.rows), score(b.rows)) for b in parts
        ),
        length_unit=unit,
    )


def _judged_restored(run: str | Path, config: RunConfig, way: Way) -> Judged:
    """How much of damaged text is restored. Speed is that of forced scoring."""
    metric, model, name = metric_of(config), load(run), scored_set(config)
    corpora = as_corpora(getattr(config.data, name), f"data.{name}")
    started = time.perf_counter()
    found = model.evaluate(corpora, [metric], config.data.root or ".", RESAMPLES)
    seconds = time.perf_counter() - started
    return Judged(
        metric=metric,
        score=found.scores[metric],
        lower_is_better=model.task.prefers_less(metric),
        n=found.n_passages,
        n_of="passages",
        speed=found.n_passages / seconds,
        speed_of="passages",
    )


Judge = Callable[[str | Path, RunConfig, Way], Judged]
JUDGES: dict[str, Judge] = {
    "translate": _judged_translation,
    "language": _judged_language,
    "classify": _judged_outputs,
    "tag": _judged_outputs,
    "answer": _judged_outputs,
    "regress": _judged_outputs,
    "pretrain": _judged_restored,
}
COMPARED = {
    "translate": "bleu",
    "language": "bits_per_character",
    "classify": "accuracy",
    "tag": "entity_f1",
    "answer": "f1",
    "regress": "spearman",
}
"""By task, what runs are compared by where their run files leave it open; of the others the first
that validations measure beside the loss."""
HAVE_LENGTHS = frozenset({"translate", "classify", "tag", "answer", "regress"})
"""Tasks whose judge looks at lengths."""
HAVE_TOKENS = frozenset({"translate"})
"""Tasks whose judge may be told that references are tokenised."""

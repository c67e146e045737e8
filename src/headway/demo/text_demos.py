"""The demos with texts: dates in many languages to ISO form, spellings to pronunciations.

`recipes/` has the same settings as run files. `dates.py` and `pronunciations.py` make the data.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..data.codecs.text import TextConfig
from ..data.config import DataConfig
from ..inference.translator import Translator
from ..metrics.score import Score
from ..models.transformer import TransformerConfig
from ..run_config import RunConfig
from ..search import SearchConfig
from ..text import TokenizerConfig
from ..training.config import TrainConfig
from ..view.report import Command, Sample
from .base import Demo, DemoFindings
from .dates import LANGUAGES, SHOWCASE, DateExample, make_dates, write_dates
from .pronunciations import make_pronunciations, write_pronunciations

DATES_STEPS = 2000
PRONOUNCE_STEPS = 6000
NEW_WORDS = ("headway", "selfie", "vlogger", "bitcoin", "frumious", "blorft")


@dataclass(frozen=True)
class HeldOut:
    """A test set of examples that are not in the training data.

    Attributes:
        key: suffix of the names of its metrics; empty for the main set.
        references: the correct outputs of each source.
    """

    key: str
    label: str
    sources: list[str]
    references: list[list[str]]


@dataclass(frozen=True)
class TextDemo(Demo):
    """A demo that translates.

    Attributes:
        metrics: metrics of the task, the main one first.
        showcase: inputs to show, with their correct outputs if known.
    """

    metrics: tuple[str, ...]
    held_out: list[HeldOut]
    showcase: list[tuple[str, list[str]]]

    def examine(self, model: Translator) -> DemoFindings:
        scored = [(held, _score(model, held, self.metrics)) for held in self.held_out]
        rows = _showcase(model, self.showcase)
        known = [row for row in rows if row.is_right is not None]
        n_right = sum(bool(row.is_right) for row in known)
        return DemoFindings(
            scores={held.label: by_metric for held, by_metric in scored},
            metrics={
                f"{metric}_{held.key}" if held.key else metric: score
                for held, by_metric in scored
                for metric, score in by_metric.items()
            },
            rows=rows,
            remarks=[f"{n_right} of {len(known)} lines above are right"],
        )

    def commands(self, run: Path, rows: Sequence[Sample]) -> list[Command]:
        path = shlex.quote(str(run))
        right = [row for row in rows if row.is_right]
        text = shlex.quote((right or rows)[0].source)
        options = "".join(f" --metric {metric}" for metric in self.metrics)
        if any(len(answers) > 1 for held in self.held_out for answers in held.references):
            options = f" --group{options}"
        return [
            Command(f"echo {text} | headway translate {path}", "Try inputs of your own."),
            Command(f"headway evaluate {path}{options}", "Score it on the test set again."),
            Command(f"headway info {path}", "What is in the run directory."),
            Command("headway train RUN.toml --out runs/mine", "Train on data of your own."),
            Command(
                f"headway serve {path}",
                "The live page: type, and see outputs, search and attention.",
            ),
            Command(
                f"headway view {path} {text} --out page.html",
                "The same page for one text, as a file.",
            ),
        ]


def dates_demo(
    seed: int = 1,
    steps: int = DATES_STEPS,
    n_train: int = 60_000,
    n_varied: int = 12_000,
    n_valid: int = 500,
    n_test: int = 1_000,
    n_unseen: int = 500,
) -> TextDemo:
    """The demo that rewrites dates of many languages in ISO form."""
    data = make_dates(seed, n_train, n_varied, n_valid, n_test, n_unseen)
    n_languages = len({language.partition("_")[0] for language in LANGUAGES})
    return TextDemo(
        name="dates",
        title="Dates to ISO form",
        about=f"Dates as people write them in {n_languages} languages, rewritten as YYYY-MM-DD.",
        config=dates_config(seed, steps),
        write=lambda folder: write_dates(data, folder),
        metrics=("exact",),
        held_out=[
            _dates("", "Test set: {n} dates that are not in the training data", data.test),
            _dates("unseen_languages", "{n} dates in languages never seen", data.unseen_language),
            _dates("unseen_patterns", "{n} dates in patterns never seen", data.unseen_pattern),
        ],
        showcase=[(text, [iso]) for text, iso in SHOWCASE],
    )


def dates_config(seed: int = 1, steps: int = DATES_STEPS) -> RunConfig:
    """The settings of the dates, as in `recipes/dates.toml`."""
    characters = TokenizerConfig(kind="characters")
    return RunConfig(
        data=DataConfig(
            train=["train.tsv", "train-varied.tsv"], valid="valid.tsv", test="test.tsv"
        ),
        seed=seed,
        text=TextConfig(
            source=replace(characters, lowercase=True, normalise="nfkc"), target=characters
        ),
        model=TransformerConfig(
            preset="tiny", encoder_layers=2, decoder_layers=1, dropout=0.0, positions="rotary"
        ),
        train=TrainConfig(
            steps=steps,
            batch_tokens=1024,
            lr=3e-3,
            label_smoothing=0.0,
            metric="exact",
            choose="last",
            evaluate_every=max(1, steps // 8),
        ),
        search=SearchConfig(beam=1),
    )


def pronounce_demo(
    seed: int = 1,
    steps: int = PRONOUNCE_STEPS,
    valid_share: float = 0.005,
    test_share: float = 0.016,
) -> TextDemo:
    """The demo that converts English spellings to phonemes (CMU Pronouncing Dictionary)."""
    data = make_pronunciations(seed, valid_share=valid_share, test_share=test_share)
    known = {item.word for item in (*data.train, *data.valid, *data.test)}
    samples = data.test[:: max(1, len(data.test) // 8)][:8]
    return TextDemo(
        name="pronounce",
        title="Spelling to pronunciation",
        about="English words to phonemes (ARPAbet), learned from the CMU Pronouncing Dictionary.",
        config=pronounce_config(seed, steps),
        write=lambda folder: write_pronunciations(data, folder),
        metrics=("ser", "per"),
        held_out=[
            HeldOut(
                "",
                f"Test set: {len(data.test):,} words that are not in the training data",
                [item.word for item in data.test],
                [list(item.pronunciations) for item in data.test],
            )
        ],
        showcase=[(item.word, list(item.pronunciations)) for item in samples]
        + [(word, []) for word in NEW_WORDS if word not in known],
    )


def pronounce_config(seed: int = 1, steps: int = PRONOUNCE_STEPS) -> RunConfig:
    """The settings of the pronunciations, as in `recipes/pronounce.toml`."""
    return RunConfig(
        data=DataConfig(train="train.tsv", valid="valid.tsv", test="test.tsv"),
        seed=seed,
        text=TextConfig(
            source=TokenizerConfig(kind="characters"), target=TokenizerConfig(kind="words")
        ),
        model=TransformerConfig(
            preset="tiny", encoder_layers=3, decoder_layers=1, dropout=0.0, positions="rotary"
        ),
        train=TrainConfig(
            steps=steps,
            batch_tokens=512,
            lr=2e-3,
            label_smoothing=0.05,
            metric="ser",
            choose="last",
            evaluate_every=max(1, steps // 8),
        ),
        search=SearchConfig(beam=5),
    )


def _dates(key: str, label: str, examples: Sequence[DateExample]) -> HeldOut:
    return HeldOut(
        key,
        label.format(n=f"{len(examples):,}"),
        [example.text for example in examples],
        [[example.iso] for example in examples],
    )


def _score(model: Translator, held: HeldOut, metrics: Sequence[str]) -> dict[str, Score]:
    return model.evaluate(held.sources, held.references, metrics=metrics).scores


def _showcase(model: Translator, showcase: Sequence[tuple[str, list[str]]]) -> list[Sample]:
    results = model.translate([source for source, _ in showcase])
    return [
        Sample(
            source,
            result.text,
            expected=result.text if result.text in answers else next(iter(answers), None),
            confidence=result.outputs[0].confidence,
            is_right=result.text in answers if answers else None,
        )
        for (source, answers), result in zip(showcase, results, strict=True)
    ]

"""The demos: they make data, train a small model, score it, use it and write a report.

A demo consists of data, settings and a showcase; `run_demo` trains and scores an ordinary run.
`recipes/` has the same settings as run files. The command line prints the result.
"""

import hashlib
import os
import shlex
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..api import train
from ..data.codecs.text import TextConfig
from ..data.config import DataConfig, default_cache
from ..data.store import writing_to
from ..errors import ConfigError
from ..inference.translator import Translator
from ..inspection.report import write_report
from ..metrics.score import Score
from ..models.transformer import TransformerConfig
from ..run_config import RunConfig
from ..search import SearchConfig
from ..text import TokenizerConfig
from ..training.config import TrainConfig
from ..training.progress import Display, Silent
from ..view.report import Command, Sample
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
class Demo:
    """A demo: data, settings and a showcase.

    Attributes:
        config: the settings; file names are relative to the folder that `write` fills.
        metrics: metrics of the task, the main one first.
        showcase: inputs to show, with their correct outputs if known.
    """

    name: str
    title: str
    about: str
    config: RunConfig
    write: Callable[[Path], object]
    metrics: tuple[str, ...]
    held_out: list[HeldOut]
    showcase: list[tuple[str, list[str]]]


@dataclass(frozen=True)
class DemoResult:
    """The result of a demo.

    Attributes:
        data: the folder of the data files, which `headway resume` and `evaluate` use again.
        report: the path of the report.
        scores: description of the test set -> metric -> score.
        metrics: the same scores under one name each (`exact`, `exact_unseen_languages`).
        minutes: from making the data to the written report.
        rows: the showcase.
        commands: suggested next commands.
    """

    name: str
    run: Path
    data: Path
    report: Path
    scores: dict[str, dict[str, Score]]
    metrics: dict[str, Score]
    parameters: int
    steps: int
    minutes: float
    rows: list[Sample]
    commands: list[Command]

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data; `wer` is an older name of `ser`, with the same score."""
        metrics = {name: score.to_dict() for name, score in self.metrics.items()}
        if "ser" in metrics:
            metrics = {"wer": metrics["ser"], **metrics}
        return {
            "demo": self.name,
            "run": str(self.run),
            "data": str(self.data),
            "report": str(self.report),
            "metrics": metrics,
            "parameters": self.parameters,
            "steps": self.steps,
            "minutes": self.minutes,
            "rows": [asdict(row) for row in self.rows],
        }


def run_demo(
    name: str,
    out: str | Path,
    display: Display | None = None,
    steps: int | None = None,
    seed: int | None = None,
) -> DemoResult:
    """Makes the data, trains into the run directory `out`, scores the model, writes the report.

    Args:
        steps: number of updates. Default: as many as the demo needs for its score.
        seed: seed of the training; the data stay the same. Default: the seed of the data.

    Raises:
        ConfigError: there is no demo of that name, or `steps` is below 1.
        MissingExtra: a package for making the data is not installed.
    """
    started = time.perf_counter()
    if name not in DEMOS:
        raise ConfigError(f"no demo {name!r}; expected one of {', '.join(DEMOS)}")
    if steps is not None and steps < 1:
        raise ConfigError(f"steps={steps}; expected 1 or more")
    run, display = Path(out), display or Silent()
    display.note("making the data")
    demo = DEMOS[name]() if steps is None else DEMOS[name](steps=steps)
    folder = _write_data(demo)
    config = replace(
        demo.config,
        data=replace(demo.config.data, root=str(folder)),
        seed=demo.config.seed if seed is None else seed,
    )
    model = train(config, run, display)
    display.note("scoring the test sets")
    scored = [(held, _score(model, held, demo.metrics)) for held in demo.held_out]
    rows = _showcase(model, demo.showcase)
    scores = {held.label: by_metric for held, by_metric in scored}
    commands = _commands(demo, run, rows)
    page = write_report(
        run,
        model,
        title=demo.title,
        subtitle=demo.about,
        scores={label: list(by_metric.values()) for label, by_metric in scores.items()},
        samples=rows,
        commands=commands,
    )
    return DemoResult(
        name=name,
        run=run,
        data=folder,
        report=page,
        scores=scores,
        metrics={
            f"{metric}_{held.key}" if held.key else metric: score
            for held, by_metric in scored
            for metric, score in by_metric.items()
        },
        parameters=model.n_parameters,
        steps=int(model.weights_info["step"]),
        minutes=(time.perf_counter() - started) / 60,
        rows=rows,
        commands=commands,
    )


def dates_demo(
    seed: int = 1,
    steps: int = DATES_STEPS,
    n_train: int = 60_000,
    n_varied: int = 12_000,
    n_valid: int = 500,
    n_test: int = 1_000,
    n_unseen: int = 500,
) -> Demo:
    """The demo that rewrites dates of many languages in ISO form."""
    data = make_dates(seed, n_train, n_varied, n_valid, n_test, n_unseen)
    n_languages = len({language.partition("_")[0] for language in LANGUAGES})
    return Demo(
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
) -> Demo:
    """The demo that converts English spellings to phonemes (CMU Pronouncing Dictionary)."""
    data = make_pronunciations(seed, valid_share=valid_share, test_share=test_share)
    known = {item.word for item in (*data.train, *data.valid, *data.test)}
    samples = data.test[:: max(1, len(data.test) // 8)][:8]
    return Demo(
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


DEMOS: dict[str, Callable[..., Demo]] = {"dates": dates_demo, "pronounce": pronounce_demo}


def _dates(key: str, label: str, examples: Sequence[DateExample]) -> HeldOut:
    return HeldOut(
        key,
        label.format(n=f"{len(examples):,}"),
        [example.text for example in examples],
        [[example.iso] for example in examples],
    )


def _write_data(demo: Demo) -> Path:
    """Writes the demo's data, completely or not at all, into a folder named by their content."""
    home = default_cache() / "demo"
    with writing_to(home / demo.name):
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home, prefix=".new-") as staging:
            new = Path(staging) / "data"
            demo.write(new)
            folder = home / f"{demo.name}-{_digest(new)}"
            if not folder.exists():
                os.replace(new, folder)
    return folder


def _digest(folder: Path) -> str:
    digest = hashlib.blake2b(digest_size=6)
    for path in sorted(folder.iterdir()):
        digest.update(f"{path.name} {path.stat().st_size} ".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


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


def _commands(demo: Demo, run: Path, rows: Sequence[Sample]) -> list[Command]:
    path = shlex.quote(str(run))
    right = [row for row in rows if row.is_right]
    text = shlex.quote((right or rows)[0].source)
    options = "".join(f" --metric {metric}" for metric in demo.metrics)
    if any(len(answers) > 1 for held in demo.held_out for answers in held.references):
        options = f" --group{options}"
    return [
        Command(f"echo {text} | headway translate {path}", "Try inputs of your own."),
        Command(f"headway evaluate {path}{options}", "Score it on the test set again."),
        Command(f"headway info {path}", "What is in the run directory."),
        Command("headway train RUN.toml --out runs/mine", "Train on data of your own."),
        Command(
            f"headway serve {path}", "The live page: type, and see outputs, search and attention."
        ),
        Command(
            f"headway view {path} {text} --out page.html",
            "The same page for one text, as a file.",
        ),
    ]

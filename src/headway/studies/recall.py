"""Whether a model can look up words of the distant past: accuracy by distance.

Recurrent networks without attention, with attention, and a Transformer are trained on the task of
`lookup.py` for the same number of minutes, as by `headway train`. They answer questions at the
distances of their training and at longer ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..data.codecs.text import TextConfig
from ..data.config import DataConfig
from ..metrics.interval import wilson
from ..models import FAMILIES
from ..run_config import RunConfig
from ..search import SearchConfig
from ..training.config import TrainConfig
from ..training.progress import Display
from ..view.svg_charts import Mark, lines
from .finding import Finding, FindingTable
from .learned import StudyRun, train_models
from .lookup import KEYS, PAIRS, VALUES, LookUp, keyless_share, make_lookups

MINUTES = 1.5  # for each model
ONE_WAY = {"family": "recurrent", "bidirectional": False}
MODELS: Mapping[str, Mapping[str, Any]] = {
    "RNN": {**ONE_WAY, "cell": "rnn", "attention": "none"},
    "GRU": {**ONE_WAY, "cell": "gru", "attention": "none"},
    "LSTM": {**ONE_WAY, "cell": "lstm", "attention": "none"},
    "GRU + attention": {**ONE_WAY, "cell": "gru", "attention": "luong"},
    "Transformer": {
        "family": "transformer",
        "d_ff": 128,
        "n_heads": 4,
        "encoder_layers": 2,
        "decoder_layers": 1,
        "positions": "rotary",
    },
}
"""Encoders are unidirectional, so that the answer is equally far away for all of them."""


@dataclass(frozen=True)
class RecallSizes:
    """Sizes of the study.

    Attributes:
        trained: shortest and longest distance in training; their logarithms are spread evenly.
        within: test distances that training covers.
        beyond: test distances longer than any in training.
        n_test: number of questions at each distance.
    """

    trained: tuple[int, int] = (8, 64)
    within: tuple[int, ...] = (8, 16, 32, 64)
    beyond: tuple[int, ...] = (128, 256)
    n_train: int = 60_000
    n_valid: int = 300
    n_test: int = 400
    d_model: int = 64
    batch_tokens: int = 1024

    @property
    def longest(self) -> int:
        """The most words of a question, including pairs before the distance, and EOS."""
        return max(*self.trained, *self.within, *self.beyond) + PAIRS + 1


SIZES = RecallSizes()
Shares = dict[str, dict[int, Mark]]
"""The accuracy, with Wilson's interval, by model and distance."""


def study_recall(out: Path, seed: int, minutes: float | None, display: Display) -> Finding:
    """Trains and tests every model."""
    sizes, minutes = SIZES, minutes or MINUTES
    distances = (*sizes.within, *sizes.beyond)
    data = make_lookups(seed, sizes.n_train, sizes.n_valid, sizes.n_test, sizes.trained, distances)
    run_files = {name: run_file(name, sizes, seed) for name in MODELS}
    learned = train_models(out, run_files, data, minutes, display)
    shares: Shares = {}
    for name, run in learned.items():
        display.note(f"testing {name}")
        shares[name] = {d: share_right(run.model, examples) for d, examples in data.test.items()}
    return make_finding(shares, learned, sizes, {"seed": seed, "minutes": minutes})


def run_file(name: str, sizes: RecallSizes, seed: int) -> RunConfig:
    """The settings of one model: question to answer, word by word."""
    model = FAMILIES[MODELS[name]["family"]].config
    return RunConfig(
        data=DataConfig(
            train="train.tsv",
            valid="valid.tsv",
            test="test.tsv",
            root=f"data-seed{seed}",
            max_length=sizes.longest,
        ),
        seed=seed,
        text=replace(TextConfig(), kind="words"),
        # Every example is seen only a few times, so dropout is not needed.
        model=model(**MODELS[name], d_model=sizes.d_model, dropout=0.0),
        train=TrainConfig(
            batch_tokens=sizes.batch_tokens,
            lr=3e-3,
            label_smoothing=0.0,
            metric="exact",
            choose="last",
        ),
        search=SearchConfig(beam=1, max_length=4),
    )


def share_right(model: Any, examples: Sequence[LookUp]) -> Mark:
    """The share of questions whose output is exactly the correct word."""
    outputs = model.translate([example.source for example in examples])
    pairs = zip(outputs, examples, strict=True)
    right = sum(output.text == example.answer for output, example in pairs)
    return Mark(right / len(examples), *wilson(right, len(examples)))


def make_finding(
    shares: Shares, learned: Mapping[str, StudyRun], sizes: RecallSizes, facts: Mapping[str, Any]
) -> Finding:
    """The shares as tables and a picture, with longer distances than in training separate."""
    near, far = sizes.trained
    columns = [*sizes.within, None, *sizes.beyond]
    marks = {
        name: [None if d is None else _percent(by_distance[d]) for d in columns]
        for name, by_distance in shares.items()
    }
    labels = ["longer:" if d is None else str(d) for d in columns]
    title = f"Right answers by distance, {facts['minutes']:g} minutes of training each"
    x_label = f"words from the answer to the question; {near} to {far} were trained on; bars: 95%"
    return Finding(
        study="recall",
        claim=f"Share of look-ups answered right, in percent, by the distance of the answer; "
        f"{facts['minutes']:g} minutes of training each",
        tables=(
            FindingTable(
                _rows(shares, sizes.within), f"Distances of {near} to {far}, as in training:"
            ),
            FindingTable(_rows(shares, sizes.beyond), "Longer than any in training:"),
            FindingTable(_costs(learned), "What each had:"),
        ),
        notes=(
            f"{sizes.n_test} questions at each distance; [95% interval (Wilson)] is that of the "
            "questions; it does not include the variation between seeds.",
            f"{PAIRS} pairs of {len(KEYS)} keys and {len(VALUES)} values: guessing is right in "
            f"{100 / len(VALUES):.1f}%, always naming the most frequent value in "
            f"{keyless_share():.0%}.",
            f"Width {sizes.d_model}; one layer on each side, two in the Transformer's encoder.",
        ),
        picture=lines(marks, labels, title, x_label, digits=1),
        figures={
            **facts,
            "sizes": asdict(sizes),
            "rows": [
                {"name": name, **learned[name].to_dict()}
                | {"within": _shares(by_distance, sizes.within)}
                | {"beyond": _shares(by_distance, sizes.beyond)}
                for name, by_distance in shares.items()
            ],
        },
    )


def _rows(shares: Shares, distances: Sequence[int]) -> list[list[str]]:
    head = ["distance", *map(str, distances)]
    cells = ([_cell(_percent(marks[d])) for d in distances] for marks in shares.values())
    return [head, *([name, *row] for name, row in zip(shares, cells, strict=True))]


def _costs(learned: Mapping[str, StudyRun]) -> list[list[str]]:
    rows = [
        [name, f"{run.parameters:,}", f"{run.steps:,}", f"{run.minutes or 0:.1f}"]
        for name, run in learned.items()
    ]
    return [["model", "parameters", "updates", "minutes"], *rows]


def _shares(by_distance: Mapping[int, Mark], distances: Sequence[int]) -> dict[str, Any]:
    marks = {str(d): by_distance[d] for d in distances}
    return {d: {"value": m.value, "low": m.low, "high": m.high} for d, m in marks.items()}


def _percent(mark: Mark) -> Mark:
    return Mark(100 * mark.value, 100 * (mark.low or 0.0), 100 * (mark.high or 0.0))


def _cell(mark: Mark) -> str:
    return f"{mark.value:.1f} [{mark.low:.1f}, {mark.high:.1f}]"

"""How much of a gradient reaches the queried word, by its distance.

The norm of the derivative of the last output with respect to the embedding of the queried pair of
`lookup.py`, for recurrent and Transformer language models, at initialisation and after training.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from ..data.codecs.text import TextConfig
from ..data.collate import text_batch
from ..data.config import DataConfig
from ..metrics.interval import wilson
from ..models import FAMILIES, VocabularySizes
from ..run_config import RunConfig
from ..training.config import TrainConfig
from ..training.progress import Display
from ..view.svg_charts import Mark, panels
from .finding import Finding, FindingTable
from .jacobian import norms
from .learned import StudyRun, train_models
from .lookup import PAIRS, VALUES, LookUp, make_lookups

MINUTES = 1.8  # for each model
MODELS: Mapping[str, Mapping[str, Any]] = {
    "RNN": {"family": "recurrent_decoder", "cell": "rnn"},
    "GRU": {"family": "recurrent_decoder", "cell": "gru"},
    "LSTM": {"family": "recurrent_decoder", "cell": "lstm"},
    "Transformer": {"family": "decoder", "d_ff": 128, "n_heads": 4, "layers": 2},
}
FLOOR = 1e-8  # in single precision, smaller values do not change a sum with 1


@dataclass(frozen=True)
class GradientSizes:
    """Sizes of the study.

    Attributes:
        length: number of words of every measured text; it is constant, so that only the distance
            varies.
        before: about the most filler before the pairs of training texts, which are shorter.
        distances: distances of the queried word; norms are relative to the first.
        seeds: number of initialisations that are measured; one model of each type is trained.
        n_measured: number of texts at each distance for gradients.
        n_test: number of texts at each distance for accuracy.
    """

    length: int = 112
    distances: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64, 100)
    seeds: int = 3
    n_measured: int = 16
    n_test: int = 100
    n_train: int = 60_000
    before: int = 16
    n_valid: int = 200
    d_model: int = 64
    batch_tokens: int = 2048


SIZES = GradientSizes()
Texts = Mapping[int, Tensor]
"""Token ids (B, T) by the distance of the queried word."""


@dataclass(frozen=True)
class Measured:
    """The measurements of one type of model.

    Attributes:
        start: norms by distance at initialisation, one mapping for each seed.
        after: norms by distance after training.
        right: accuracy of the trained model by distance, with Wilson's interval.
    """

    start: list[dict[int, float]]
    after: dict[int, float]
    right: dict[int, Mark]


def study_gradients(out: Path, seed: int, minutes: float | None, display: Display) -> Finding:
    """Trains and measures every model; also measures untrained models."""
    sizes, minutes = SIZES, minutes or MINUTES
    distances = sizes.distances
    spread = (distances[0], distances[-1])
    counts = (sizes.n_train, sizes.n_valid, sizes.n_test)
    data = make_lookups(seed, *counts, spread, distances, sizes.length, sizes.before)
    run_files = {name: run_file(name, sizes, seed) for name in MODELS}
    learned = train_models(out, run_files, data, minutes, display)
    measured = {}
    for name, run in learned.items():
        display.note(f"computing gradients of {name}")
        measured[name] = _measure(run.model, data.test, sizes, seed)
    return make_finding(measured, learned, sizes, {"seed": seed, "minutes": minutes})


def run_file(name: str, sizes: GradientSizes, seed: int) -> RunConfig:
    """The settings of one language model; question and answer are one text."""
    model = FAMILIES[MODELS[name]["family"]].config
    return RunConfig(
        task="language",
        data=DataConfig(
            train="train.txt",
            valid="valid.txt",
            test="test.txt",
            root=f"data-seed{seed}",
            max_length=max(sizes.length, sizes.distances[-1] + 2 * PAIRS + sizes.before) + 2,
        ),
        seed=seed,
        text=replace(TextConfig(), kind="words"),
        model=model(**MODELS[name], d_model=sizes.d_model, dropout=0.0),
        train=TrainConfig(batch_tokens=sizes.batch_tokens, lr=3e-3, choose="last"),
    )


def _measure(
    trained: Any, test: Mapping[int, Sequence[LookUp]], sizes: GradientSizes, seed: int
) -> Measured:
    codec, config = trained.task.codec, trained.config.model
    values = _first_tokens(codec, VALUES)
    texts = {
        d: text_batch(codec.encode_batch([e.source for e in examples]), codec.bos)["tgt_in"]
        for d, examples in test.items()
    }
    size = trained.model.embedding.size(0)
    start = []
    for number in range(seed, seed + sizes.seeds):
        torch.manual_seed(number)
        model = FAMILIES[config.family].build(config, VocabularySizes(size, size, shared=True))
        start.append(_by_distance(model, texts, values, sizes.n_measured))
    model = trained.model.cpu()
    return Measured(
        start,
        _by_distance(model, texts, values, sizes.n_measured),
        {
            d: _right(model, texts[d], _first_tokens(codec, [e.answer for e in examples]))
            for d, examples in test.items()
        },
    )


def _first_tokens(codec: Any, words: Sequence[str]) -> Tensor:
    return torch.tensor([int(ids[0]) for ids in codec.encode_batch(list(words))])


def _by_distance(model: Any, texts: Texts, values: Tensor, n: int) -> dict[int, float]:
    """The mean norm at the queried word, in double precision, so that none underflows."""
    exact = copy.deepcopy(model).double().eval()
    return {
        d: norms(exact, tokens[:n], values)[:, -1 - d].mean().item() for d, tokens in texts.items()
    }


@torch.inference_mode()
def _right(model: Any, tokens: Tensor, answers: Tensor) -> Mark:
    predicted = model.output(model({"tgt_in": tokens})[:, -1]).argmax(-1)
    right = int((predicted == answers).sum())
    return Mark(right / len(answers), *wilson(right, len(answers)))


def make_finding(
    measured: Mapping[str, Measured],
    learned: Mapping[str, StudyRun],
    sizes: GradientSizes,
    facts: Mapping[str, Any],
) -> Finding:
    """The finding: norms relative to the shortest distance, at the start and after training."""
    start = {name: _relative(result.start) for name, result in measured.items()}
    after = {name: _relative([result.after]) for name, result in measured.items()}
    nearest, minutes = sizes.distances[0], f"{facts['minutes']:g} minutes"
    claim = (
        "Norm of the gradient that reaches the queried word, by its distance, "
        f"relative to distance {nearest}"
    )
    headings = ("At the start", f"After {minutes} of training")
    drawings = dict(zip(headings, (start, after), strict=True))
    label = f"distance in words; norms relative to distance {nearest}; not drawn below 10⁻⁸"
    head = ["distance", *map(str, sizes.distances)]
    right = {name: result.right.values() for name, result in measured.items()}
    return Finding(
        study="gradients",
        claim=claim,
        tables=(
            FindingTable([head, *_cells(start)], f"At the start, mean of {sizes.seeds} seeds:"),
            FindingTable([head, *_cells(after)], f"After {minutes} of training, one seed:"),
            FindingTable(
                [head, *([n, *(f"{m.value:.0%}" for m in row)] for n, row in right.items())],
                f"Right answers after training, of {sizes.n_test} at each distance:",
            ),
        ),
        notes=(
            f"Norm: Frobenius, of the derivative of the logits of the {len(VALUES)} values after "
            f"the last word by the embedding of the queried word; mean of {sizes.n_measured} "
            f"texts of {sizes.length} words.",
            f"Width {sizes.d_model}; one recurrent layer, two of the Transformer; updates: "
            + ", ".join(f"{name} {run.steps:,}" for name, run in learned.items())
            + ".",
        ),
        picture=panels(drawings, head[1:], "Gradient by distance", label, 2, True, FLOOR),
        figures={
            **facts,
            "sizes": asdict(sizes),
            "rows": [
                {"name": name, **learned[name].to_dict()}
                | {"start": [_record(norms) for norms in result.start]}
                | {"after": _record(result.after)}
                | {"right": {str(d): mark.value for d, mark in result.right.items()}}
                for name, result in measured.items()
            ],
        },
    )


def _relative(seeds: Sequence[Mapping[int, float]]) -> list[Mark]:
    """Each norm over that at the first distance: mean, lowest and highest over seeds."""
    ratios = [[norm / next(iter(row.values())) for norm in row.values()] for row in seeds]
    columns = list(zip(*ratios, strict=True))
    if len(seeds) == 1:
        return [Mark(value) for (value,) in columns]
    return [Mark(fmean(column), min(column), max(column)) for column in columns]


def _cells(part: Mapping[str, Sequence[Mark]]) -> list[list[str]]:
    return [[name, *(f"{mark.value:.2g}" for mark in marks)] for name, marks in part.items()]


def _record(by_distance: Mapping[int, float]) -> dict[str, float]:
    return {str(distance): norm for distance, norm in by_distance.items()}

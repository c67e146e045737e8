"""How the time of one training update grows with the length of its sequences.

The number of tokens in an update is constant, so only the number of sequential steps grows. The
update is that of `headway train`.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import torch

from ..models import FAMILIES, VocabularySizes
from ..tasks.base import Batch
from ..tasks.losses import SequenceLoss
from ..text.special_tokens import BOS, SPECIALS
from ..training.config import TrainConfig
from ..training.distributed import Processes
from ..training.optimizer import make_optimizer
from ..training.progress import Display
from ..training.update import Updater
from ..view.svg_charts import Mark, lines
from .finding import Finding, FindingTable

LEARNING_RATE = 1e-4  # the updates are real, and no value may overflow
MODELS: Mapping[str, Mapping[str, Any]] = {
    "GRU": {"family": "recurrent", "attention": "none"},
    "GRU + Luong": {"family": "recurrent", "attention": "luong"},
    "GRU + Bahdanau": {"family": "recurrent", "attention": "bahdanau"},
    "convolutional": {"family": "convolutional", "encoder_layers": 1, "decoder_layers": 1},
    "Transformer": {
        "family": "transformer",
        "preset": "tiny",
        "encoder_layers": 1,
        "decoder_layers": 1,
    },
}
"""One layer on each side, and otherwise the defaults of a run file."""


@dataclass(frozen=True)
class StepSizes:
    """Sizes of the study.

    Attributes:
        lengths: lengths of source and target, which are equal.
        tokens: target tokens per update, divided among the threads.
        rounds: number of timed rounds, after one that is not timed; each has one update per model
            and length.
    """

    lengths: tuple[int, ...] = (8, 16, 32, 64, 128, 256, 512)
    tokens: int = 4096
    d_model: int = 128
    vocabulary: int = 1000
    rounds: int = 7


SIZES = StepSizes()
Times = dict[str, dict[int, list[float]]]
"""Seconds of an update in every round, by model and length."""


def study_steps(seed: int, display: Display) -> Finding:
    """Times every model at every length."""
    sizes, threads = SIZES, torch.get_num_threads()
    updaters = {name: _updater(name, sizes, seed, threads) for name in MODELS}
    batches = {length: make_batches(sizes, length, threads, seed) for length in sizes.lengths}
    times = time_updates(updaters, batches, sizes.rounds, display)
    return make_finding(
        times, sizes, {"seed": seed, "threads": threads, "torch": torch.__version__}
    )


def make_batches(sizes: StepSizes, length: int, workers: int, seed: int) -> list[tuple[int, Batch]]:
    """The micro-batches of one update, one for each worker: random words without padding."""
    rows = max(1, sizes.tokens // length // workers)
    generator = torch.Generator().manual_seed(seed)
    batches: list[tuple[int, Batch]] = []
    for index in range(workers):
        source, target = torch.randint(
            len(SPECIALS), sizes.vocabulary, (2, rows, length), generator=generator
        )
        tgt_in = torch.cat([torch.full((rows, 1), BOS), target[:, :-1]], dim=1)
        valid = torch.ones(rows, length, dtype=torch.bool)
        batch = {"src": source, "src_valid": valid, "tgt_in": tgt_in, "tgt_out": target}
        batches.append((index, {**batch, "tgt_valid": valid}))
    return batches


def time_updates(
    updaters: Mapping[str, Callable[..., object]],
    batches: Mapping[int, list[tuple[int, Batch]]],
    rounds: int,
    display: Display,
    clock: Callable[[], float] = time.perf_counter,
) -> Times:
    """The seconds of each update; models take turns, and each round starts with another model."""
    times: Times = {name: {length: [] for length in batches} for name in updaters}
    names = list(updaters)
    for number in range(rounds + 1):
        display.note(f"round {number} of {rounds}" if number else "warming up")
        for length, work in batches.items():
            for name in names[number % len(names) :] + names[: number % len(names)]:
                start = clock()
                updaters[name](work, number + 1, LEARNING_RATE)
                if number:
                    times[name][length].append(clock() - start)
    return times


def make_finding(times: Times, sizes: StepSizes, facts: Mapping[str, Any]) -> Finding:
    """The medians as a table and a picture."""
    marks = {
        name: [_milliseconds(by_length[length]) for length in sizes.lengths]
        for name, by_length in times.items()
    }
    first, last = sizes.lengths[0], sizes.lengths[-1]
    head = ["ms per update", *(f"length {length}" for length in sizes.lengths), f"{last} / {first}"]
    rows = [
        [name, *map(_cell, row), f"{row[-1].value / row[0].value:.1f}"]
        for name, row in marks.items()
    ]
    claim = f"Time of one training update of {sizes.tokens:,} tokens, by length of the sequences"
    labels = [str(length) for length in sizes.lengths]
    label = "tokens of source and target; milliseconds on a scale of ratios; bars: all rounds"
    return Finding(
        study="steps",
        claim=claim,
        tables=(FindingTable([head, *rows]),),
        notes=(
            f"Median of {sizes.rounds} rounds in which the models took turns, "
            "[lowest, highest]; last column: how many times longer the longest takes.",
            f"Width {sizes.d_model}, one layer on each side, {sizes.vocabulary:,} words, float32, "
            f"threads: {facts['threads']}, each with its own part of the sequences.",
        ),
        picture=lines(marks, labels, claim, label, digits=3, log=True),
        figures={
            **facts,
            "sizes": asdict(sizes),
            "rows": [
                {"name": name, "seconds": {str(n): values for n, values in by_length.items()}}
                | {"median": {str(n): median(values) for n, values in by_length.items()}}
                for name, by_length in times.items()
            ],
        },
    )


def _updater(name: str, sizes: StepSizes, seed: int, workers: int) -> Updater:
    settings = dict(MODELS[name])
    family = FAMILIES[settings.pop("family")]
    vocabularies = VocabularySizes(sizes.vocabulary, sizes.vocabulary, shared=True)
    config = family.config(d_model=sizes.d_model, **settings).resolve(0, vocabularies)
    torch.manual_seed(seed)
    model = family.build(config, vocabularies)
    optimizer = make_optimizer(model, TrainConfig(), LEARNING_RATE)
    objective = SequenceLoss(model, 0.0).train()
    return Updater(objective, optimizer, seed, TrainConfig().clip, Processes(), workers=workers)


def _milliseconds(seconds: Sequence[float]) -> Mark:
    return Mark(1000 * median(seconds), 1000 * min(seconds), 1000 * max(seconds))


def _cell(mark: Mark) -> str:
    return f"{mark.value:.0f} [{mark.low:.0f}, {mark.high:.0f}]"

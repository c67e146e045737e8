"""Rounds of training contests: data, headway's update and a plain loop, and how they take turns.

What is compared with headway is left to the programs that use this.
"""

import argparse
import gc
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, islice
from statistics import median
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from headway.data.batching import Batches
from headway.data.collate import pair_batch
from headway.errors import DataError
from headway.tasks.base import Batch, Objective
from headway.text import BOS, EOS, PAD, UNK
from headway.training.config import TrainConfig
from headway.training.distributed import Processes
from headway.training.optimizer import make_optimizer
from headway.training.update import Updater

OURS, PLAIN = "headway", "headway plain"
DROPOUT, SMOOTHING, CLIP, SEED = 0.1, 0.1, 1.0, 1
LEARNING_RATE = 1e-4  # low: post-norm without a warm-up must not run into infinities
MAX_LENGTH = 256  # tokens of an example; longer ones are left out, as `headway train` does
SENTENCES = 20_000
WARMING = 2  # updates before the clock runs


# Data


class Examples(ABC):
    """Encoded examples in memory, by columns; those that are too long are left out.

    Attributes:
        noun: what messages call them.
        sorted_by: columns whose lengths count against a batch's tokens, the one to sort by first.
    """

    noun: ClassVar[str]
    sorted_by: ClassVar[tuple[str, ...]]

    def __init__(self, columns: Mapping[str, Sequence[np.ndarray]], vocabulary: int) -> None:
        rows = list(zip(*columns.values(), strict=True))
        kept = [row for row in rows if max(map(len, row)) <= MAX_LENGTH]
        if not kept:
            raise DataError(
                f"none of {len(rows)} {self.noun} has at most {MAX_LENGTH} tokens; "
                "give files with shorter lines"
            )
        if len(kept) < len(rows):
            say(f"left out {len(rows) - len(kept)} {self.noun} of more than {MAX_LENGTH} tokens")
        self.columns = {name: [row[i] for row in kept] for i, name in enumerate(columns)}
        self.vocabulary = vocabulary

    def __len__(self) -> int:
        return len(self.columns[self.sorted_by[0]])

    def lengths(self, column: str, start: int = 0, stop: int | None = None) -> np.ndarray:
        return np.array([len(values) for values in self.columns[column][start:stop]])

    @abstractmethod
    def batch(self, indices: np.ndarray) -> dict[str, Tensor]: ...


class Pairs(Examples):
    """Sources and targets, each side with its end mark."""

    noun = "pairs"
    sorted_by = ("target", "source")

    def __init__(
        self, sources: Sequence[np.ndarray], targets: Sequence[np.ndarray], vocabulary: int
    ) -> None:
        super().__init__({"source": sources, "target": targets}, vocabulary)

    def batch(self, indices: np.ndarray) -> dict[str, Tensor]:
        source, target = self.columns["source"], self.columns["target"]
        return pair_batch([source[i] for i in indices], [target[i] for i in indices], BOS)


def synthetic(vocabulary: int, sentences: int = SENTENCES) -> Pairs:
    """Sentences of captions' lengths (median 14 tokens, a long tail) and Zipf's frequencies.

    A target is about as long as its source, give or take a fifth.
    """
    rng = np.random.default_rng(SEED)

    def side(lengths: np.ndarray) -> list[np.ndarray]:
        lengths = np.clip(lengths.round().astype(int), 2, MAX_LENGTH)
        drawn = draw_words(rng, lengths, vocabulary)
        for ids in drawn:
            ids[-1] = EOS
        return drawn

    sources = np.exp(rng.normal(np.log(14), 0.35, sentences))
    targets = sources * np.exp(rng.normal(0.0, 0.2, sentences))
    return Pairs(side(sources), side(targets), vocabulary)


def draw_words(rng: np.random.Generator, lengths: np.ndarray, vocabulary: int) -> list[np.ndarray]:
    """Texts of these lengths, of words that are no marks, with Zipf's frequencies."""
    words = np.arange(UNK + 1, vocabulary)
    chances = 1.0 / np.arange(1, len(words) + 1)
    ends = np.cumsum(lengths)
    drawn = rng.choice(words, ends[-1], p=chances / chances.sum())
    return np.split(drawn, ends[:-1])


def update_batches(examples: Examples, tokens: int, number: int) -> list[dict[str, Tensor]]:
    """The batches of the first updates, in headway's order; epochs follow each other."""
    batches = Batches(examples, examples.sorted_by, tokens, SEED)
    order: Iterator[np.ndarray] = (indices for e in count() for indices in batches.epoch(e))
    return [examples.batch(indices) for indices in islice(order, number)]


def split_rows(batch: Batch, parts: int) -> list[dict[str, Tensor]]:
    """The batch as micro-batches, padded as before: together the same rows and columns."""
    pieces = {name: value.tensor_split(parts) for name, value in batch.items()}
    split = [{name: piece[i] for name, piece in pieces.items()} for i in range(parts)]
    return [part for part in split if len(part["src"])]


def tokens_in(batch: Batch) -> int:
    """Those by which speed is told: what is written, or else what is read, without padding."""
    return int(batch.get("tgt_valid", batch["src_valid"]).sum())


# Contestants


class Contestant(Protocol):
    """Something that trains."""

    def loss(self, batch: Batch) -> float:
        """Mean over what is predicted, without dropout and smoothing."""
        ...

    def update(self, batch: Batch, number: int) -> int:
        """One update; returns how many tokens it has counted."""
        ...


class Headway:
    """headway's own update. With several workers the batch is divided among them, by rows."""

    def __init__(self, objective: Objective, workers: int) -> None:
        self.workers = workers
        self.objective = objective.train()
        optimizer = make_optimizer(objective.model, TrainConfig(), LEARNING_RATE)
        self.updater = Updater(self.objective, optimizer, SEED, CLIP, Processes(), workers=workers)

    @torch.inference_mode()
    def loss(self, batch: Batch) -> float:
        total = self.objective.eval()(batch)["loss"].item()
        self.objective.train()
        return total / self.objective.counts(batch)["loss"]

    def update(self, batch: Batch, number: int) -> int:
        parts = split_rows(batch, self.workers)
        return self.updater(list(enumerate(parts)), number, LEARNING_RATE).tokens


class TorchLoop:
    """A training loop as users of PyTorch write it, without mistakes that cost time.

    Args:
        logits: those of a batch (..., V), with padding.
        target: the name of what they are compared with (...).
        ignored: where that is padding.
    """

    def __init__(
        self,
        model: nn.Module,
        logits: Callable[[Batch], Tensor],
        target: str = "tgt_out",
        ignored: int = PAD,
        smoothing: float = SMOOTHING,
    ) -> None:
        self.model, self.logits = model.train(), logits
        self.target, self.ignored, self.smoothing = target, ignored, smoothing
        self.optimizer = make_optimizer(model, TrainConfig(), LEARNING_RATE)
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        torch.manual_seed(SEED)

    @torch.inference_mode()
    def loss(self, batch: Batch) -> float:
        self.model.eval()
        value = self.forward(batch, smoothing=0.0).item()
        self.model.train()
        return value

    def forward(self, batch: Batch, smoothing: float) -> Tensor:
        return cross_entropy(
            self.logits(batch).flatten(0, -2),
            batch[self.target].flatten(),
            ignore_index=self.ignored,
            label_smoothing=smoothing,
        )

    def update(self, batch: Batch, number: int) -> int:
        self.optimizer.zero_grad(set_to_none=True)
        self.forward(batch, self.smoothing).backward()
        nn.utils.clip_grad_norm_(self.parameters, CLIP)
        self.optimizer.step()
        return tokens_in(batch)


def check_same_model(contestants: Mapping[str, Contestant], batch: Batch) -> None:
    losses = {name: contestant.loss(batch) for name, contestant in contestants.items()}
    if max(losses.values()) - min(losses.values()) > 1e-4 * max(losses.values()):
        raise RuntimeError(f"not the same model: losses {losses}")


# Measuring


def matmul_rate(threads: int, seconds: float = 0.5, size: int = 1024) -> float:
    """Operations per second of large float32 matrix products."""
    torch.set_num_threads(threads)
    a, b, out = (torch.randn(size, size) for _ in range(3))
    torch.mm(a, b, out=out)
    start, done = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        torch.mm(a, b, out=out)
        done += 1
    return done * 2 * size**3 / (time.perf_counter() - start)


def speed(contestant: Contestant, batches: Sequence[Batch], first: int, threads: int) -> float:
    """Tokens per second over some updates, the first of them number `first`."""
    torch.set_num_threads(threads)
    gc.collect()
    start = time.perf_counter()
    tokens = sum(contestant.update(batch, n) for n, batch in enumerate(batches, first))
    seconds = time.perf_counter() - start
    expected = sum(map(tokens_in, batches))
    if tokens != expected:
        raise RuntimeError(f"not the same work: {tokens} tokens instead of {expected}")
    return tokens / seconds


def run_rounds(
    contestants: Mapping[str, Contestant], batches: Sequence[Batch], rounds: int, threads: int
) -> tuple[dict[str, list[float]], list[float]]:
    """Speeds of each contestant, and the rate of matrix products, in every round.

    Each round begins with another contestant, so that nobody always comes after the same one.
    """
    for contestant in contestants.values():
        speed(contestant, batches[:WARMING], 1, threads)
    updates = len(batches) // rounds
    speeds: dict[str, list[float]] = {name: [] for name in contestants}
    rates = []
    names = list(contestants)
    for i in range(rounds):
        rates.append(matmul_rate(threads))
        part = batches[i * updates : (i + 1) * updates]
        for name in names[i % len(names) :] + names[: i % len(names)]:
            found = speed(contestants[name], part, WARMING + 1 + i * updates, threads)
            speeds[name].append(found)
        shown = ", ".join(f"{name} {speeds[name][-1]:,.0f}" for name in names)
        say(f"  round {i + 1}/{rounds}: {shown} tokens/s; {rates[-1] / 1e9:.0f} GFLOP/s")
    return speeds, rates


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> dict[str, Any]:
    """Of the medians; and of each round, with the least and the greatest."""
    each = [one / other for one, other in zip(ours, theirs, strict=True)]
    return {
        "of_medians": round(median(ours) / median(theirs), 3),
        "of_rounds": [round(value, 3) for value in each],
        "least": round(min(each), 3),
        "greatest": round(max(each), 3),
    }


def figures(
    speeds: Mapping[str, Sequence[float]],
    rates: Sequence[float],
    flops_per_token: float,
    peer: str,
) -> dict[str, Any]:
    """What rounds have shown: speeds, ratios to the peer, shares of the rate of matrix products."""
    return {
        "tokens_per_second": {n: [round(v, 1) for v in values] for n, values in speeds.items()},
        "medians": {name: round(median(values), 1) for name, values in speeds.items()},
        **{f"{name}/{peer}": ratio(speeds[name], speeds[peer]) for name in (OURS, PLAIN)},
        "matmul_gflops": round(median(rates) / 1e9, 1),
        "mflop_per_token": round(flops_per_token / 1e6, 2),
        "share_of_matmul_rate": {
            name: round(median(values) * flops_per_token / median(rates), 3)
            for name, values in speeds.items()
        },
    }


def say_figures(found: Mapping[str, Any], peer: str) -> None:
    for name in (f"{OURS}/{peer}", f"{PLAIN}/{peer}"):
        each = found[name]
        say(
            f"  {name}: {each['of_medians']:.2f} (rounds {each['least']:.2f} to "
            f"{each['greatest']:.2f})"
        )
    shares = ", ".join(f"{name} {s:.0%}" for name, s in found["share_of_matmul_rate"].items())
    rate = found["matmul_gflops"]
    say(f"  of the {rate:.0f} GFLOP/s that matrix products reach here: {shares}")


# The program


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def rounds_parser(doc: str | None) -> argparse.ArgumentParser:
    """The options of every contest; a program adds its own."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--updates", type=int, help="updates in a round, in place of the usual")
    parser.add_argument("--threads", type=int, default=2)
    return parser


def parse_rounds(
    parser: argparse.ArgumentParser, arguments: Sequence[str] | None
) -> argparse.Namespace:
    given = parser.parse_args(arguments)
    for name, value in vars(given).items():
        if isinstance(value, int) and value < 1:
            parser.error(f"--{name} is {value}; expected 1 or more")
    return given

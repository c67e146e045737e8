"""Learning from plain text: what `task = "pretrain"` means, whatever the objective.

The store holds documents as clean tokens, in passages, with the beginnings of sentences. A passage
is damaged when its batch is made, by draws that (seed, epoch, number of the passage) decide, so
that every epoch asks something else; validation always asks the same. What is done to a passage and
what is asked of the model is in a file for each kind of objective: `masked_lm.py`, `denoising.py`,
`unilm.py`.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from ...data.batching import DAMAGE_STREAM, Batches
from ...data.blocks import SENTENCE
from ...data.codecs.text import TextCodec, TextConfig, fit_codec
from ...data.config import DataConfig
from ...data.corruption import Alphabet, draws
from ...data.store import Store
from ...errors import ConfigError
from ...metrics.pretraining import restored_loss, restored_share
from ...metrics.score import Score
from ...models import OutputLayer
from ...search import SearchConfig
from ..base import SAMPLES, Batch, Objective, Rows, Task, Validation, Validator, device_of
from .config import MaskedConfig

FIXED = (0, 0)
"""What validation draws from in place of (seed, epoch)."""
TOKENS = 4096  # in a batch of a validation, padding included
CHUNK = 1024  # answers that are judged at once; each has a logit of every word

Labels = tuple[Tensor, Tensor]
"""The right tokens or classes (n,), and the row of the batch that each belongs to (n,)."""


@dataclass(frozen=True)
class TextPassage:
    """Some tokens of one document, with all that is drawn for them.

    Attributes:
        begins: by token, whether a sentence begins with it.
    """

    index: int
    tokens: np.ndarray
    begins: np.ndarray
    rng: np.random.Generator


@dataclass(frozen=True)
class PretrainScores:
    """How well a model restores a set.

    Attributes:
        floors: by accuracy, what the most frequent answer gets to, always given.
    """

    scores: dict[str, Score]
    floors: dict[str, float]
    n_passages: int


def metrics_of(*parts: str) -> tuple[str, ...]:
    """What is measured of each part of a loss."""
    return tuple(f"{part}_{what}" for part in parts for what in ("loss", "accuracy"))


class Pretrain(Task):
    """Restores damaged text, for other tasks to start from; one subclass for each objective.

    Attributes:
        config: the settings of the objective.
        parts: what is predicted, in the order of the parts of the loss.
        stored: codec of the prepared passages, which have no special tokens: these are added after
            a passage was damaged.
        alphabet: what corruption has to know of the tokenizer.
    """

    name = "pretrain"
    trained_class = "headway.inference.masked_lm:Pretrained"
    config_class: ClassVar[type | None] = MaskedConfig
    columns = ("text",)
    lengths = ("text",)
    in_sentences = True
    parts: ClassVar[tuple[str, ...]]
    stored: TextCodec
    alphabet: Alphabet

    def with_codecs(self, codec: TextCodec) -> Self:
        """The task with this tokenizer.

        Raises:
            ConfigError: it lacks a special token that the objective needs.
        """
        specials = codec.tokenizer.specials
        for name in self.extra_specials:
            if name not in specials:
                raise ConfigError(
                    f"pretrain.objective = {self.config.objective!r} needs the control token "
                    f"{name!r}, which this tokenizer does not have; choose another objective, or "
                    "start without init"
                )
        task = self.without_codecs()
        task.codec, task.stored = codec, TextCodec(codec.tokenizer, ends=False)
        task.alphabet = make_alphabet(codec)
        return task

    @property
    def extra_specials(self) -> tuple[str, ...]:
        """Special tokens that the objective needs beside the usual ones."""
        return ("mask",)

    def fit_codecs(self, rows: Rows, text: TextConfig) -> Self:
        """Trains the tokenizer on documents."""
        texts = (row[0] for row in rows())
        codec = fit_codec(texts, text, reads=True, extra_specials=self.extra_specials)
        return self.with_codecs(codec)

    def save_codecs(self, folder: Path) -> None:
        """`tokenizer.json`."""
        self.codec.save(folder / "tokenizer.json")

    def load_codecs(self, folder: Path) -> Self:
        return self.with_codecs(TextCodec.load(folder / "tokenizer.json", reads=True))

    @property
    def codecs(self) -> dict[str, TextCodec]:
        return {"text": self.stored}

    def block(self, data: DataConfig) -> int:
        room = data.block - self.n_marks
        least, what = (2, "two texts") if "next" in self.parts else (1, "a text")
        if room < least:
            raise ConfigError(
                f"data.block = {data.block} has no room for {what}: {self.n_marks} of the tokens "
                "are marks; raise it"
            )
        return room

    @property
    def n_marks(self) -> int:
        """How many tokens may be put to a passage."""
        return 2

    def passages(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None
    ) -> Iterator[TextPassage]:
        """Stored passages with what each draws from."""
        tokens, lengths = store["text"].take(indices)
        begins, _ = store[SENTENCE].take(indices)
        cuts = np.cumsum(lengths)[:-1]
        parts = zip(indices.tolist(), np.split(tokens, cuts), np.split(begins, cuts), strict=True)
        for index, ids, flags in parts:
            yield TextPassage(index, ids, flags, draws(*(draw or FIXED), DAMAGE_STREAM, index))

    @abstractmethod
    def labels(self, batch: Batch) -> dict[str, Labels]:
        """The labels of each part."""

    @abstractmethod
    def output_states(self, model: Any, batch: Batch) -> dict[str, tuple[OutputLayer, Tensor]]:
        """The output layer of each part, and the states (n, D) that it makes logits of."""

    @abstractmethod
    def samples(self, model: Any, batch: Batch, search: SearchConfig) -> list[tuple[str, str, str]]:
        """Of each row what went in, what came out and what was right, for people."""

    def objective(self, model: Any, label_smoothing: float) -> "PretrainLoss":
        return PretrainLoss(self, model, label_smoothing)

    def validator(
        self, store: Store, data: DataConfig, metric: str, sample: int, search: SearchConfig
    ) -> "PretrainValidator":
        return PretrainValidator(self, store, metric, search)

    def fixed_batches(self, store: Store) -> Iterator[Batch]:
        """All of a set, damaged as it always is."""
        for indices in Batches(store, self.lengths, TOKENS, seed=0).epoch(0):
            yield self.batch(store, indices)

    @torch.inference_mode()
    def judge(self, model: Any, store: Store, resamples: int = 0) -> PretrainScores:
        """How well a model restores a set."""
        device = device_of(model)
        found: dict[str, list[np.ndarray]] = {part: [] for part in self.parts}
        answers: dict[str, list[np.ndarray]] = {part: [] for part in self.parts}
        for made in self.fixed_batches(store):
            batch = {name: value.to(device) for name, value in made.items()}
            states, n_rows = self.output_states(model, batch), len(next(iter(batch.values())))
            for part, (targets, rows) in self.labels(batch).items():
                found[part].append(_tally(*states[part], targets, rows, n_rows))
                answers[part].append(targets.cpu().numpy())
        scores, floors = {}, {}
        for part in self.parts:
            nll, right, counts = np.concatenate(found[part]).T
            accuracy = restored_share(part, right, counts, resamples)
            scores[f"{part}_loss"] = restored_loss(part, nll, counts, resamples)
            scores[f"{part}_accuracy"] = accuracy
            most = np.bincount(np.concatenate(answers[part])).max()
            floors[f"{part}_accuracy"] = float(100 * most / counts.sum())
        return PretrainScores(scores, floors, len(store))

    def shown(self, ids: Sequence[int]) -> str:
        """The text of tokens for people, with its control tokens."""
        tokenizer, is_control = self.codec.tokenizer, self.alphabet.is_control
        spelled = tokenizer.spellings()
        names = tokenizer.tokens(ids)
        parts = [
            f" {name} ".encode() if is_control[index] else spelled[index]
            for index, name in zip(ids, names, strict=True)
        ]
        return " ".join(b"".join(parts).decode(errors="replace").split())


def make_alphabet(codec: TextCodec) -> Alphabet:
    """What corruption has to know of a tokenizer."""
    tokenizer = codec.tokenizer
    is_control = np.zeros(tokenizer.size, bool)
    is_control[list(tokenizer.specials.values())] = True
    begins_word = np.array([spelled[:1].isspace() for spelled in tokenizer.spellings()])
    specials = tokenizer.specials
    numbered = (specials.get(f"sentinel_{number}") for number in range(len(specials)))
    sentinels = tuple(index for index in numbered if index is not None)
    return Alphabet(is_control, begins_word, specials.get("mask"), sentinels)


def _tally(
    output: OutputLayer, states: Tensor, targets: Tensor, rows: Tensor, n_rows: int
) -> np.ndarray:
    """Of each row the negative log likelihood, the right answers and their number, (B, 3)."""
    found = torch.zeros(n_rows, 3, dtype=torch.float64)
    for some, truth, place in zip(
        *(part.split(CHUNK) for part in (states, targets, rows)), strict=True
    ):
        log_probs = output(some).float().log_softmax(-1)  # (n, V)
        nll = -log_probs.gather(1, truth[:, None])[:, 0]
        right = log_probs.argmax(-1) == truth
        terms = torch.stack([nll.double(), right.double(), torch.ones_like(nll).double()], dim=1)
        found.index_add_(0, place.cpu(), terms.cpu())
    return found.numpy()


class PretrainLoss(Objective):
    """Model and label-smoothed cross-entropy of the labels, part by part."""

    def __init__(self, task: Pretrain, model: Any, smoothing: float) -> None:
        super().__init__(model, smoothing, dict.fromkeys(task.parts, 1.0))
        self.task = task

    def counts(self, batch: Batch) -> dict[str, int]:
        return {part: len(targets) for part, (targets, _) in self.task.labels(batch).items()}

    def tokens(self, batch: Batch) -> int:
        return sum(int(value.sum()) for name, value in batch.items() if name.endswith("_valid"))

    def sums(self, batch: Batch) -> dict[str, Tensor]:
        labels = self.task.labels(batch)
        return {
            part: output.cross_entropy(states, labels[part][0], self.smoothing)
            for part, (output, states) in self.task.output_states(self.model, batch).items()
        }


class PretrainValidator(Validator):
    """Loss and right answers over all of the set, and a few samples; the same is always asked."""

    def __init__(self, task: Pretrain, store: Store, metric: str, search: SearchConfig) -> None:
        super().__init__(metric, task.prefers_less(metric))
        self.task, self.store, self.search = task, store, search

    def batches(self) -> Iterator[Batch]:
        return self.task.fixed_batches(self.store)

    def examine(self, objective: Objective, limited: bool) -> Validation:
        scores = self.task.judge(objective.model, self.store).scores
        losses = {part: scores[f"{part}_loss"].value for part in self.task.parts}
        figures = {"valid_loss": sum(losses.values())}
        if len(losses) > 1:
            figures |= {f"valid_{part}_loss": value for part, value in losses.items()}
        figures |= {name: scores[name].value for name in self.task.validated if name != "loss"}
        return Validation(figures, self._samples(objective.model))

    def _samples(self, model: Any) -> list[tuple[str, str, str]]:
        step = max(1, len(self.store) // SAMPLES)
        chosen = np.arange(0, len(self.store), step)[:SAMPLES]
        made = self.task.batch(self.store, chosen)
        batch = {name: value.to(device_of(model)) for name, value in made.items()}
        return self.task.samples(model, batch, self.search)

"""`task = "pretrain"`: learning from plain text, for all objectives.

The store holds documents as clean tokens, in passages, with the starts of sentences. A passage is
corrupted when its batch is made. (seed, epoch, index of the passage) determine the random draws, so
every epoch has other corruptions; those of validation never change. The corruption and the labels
of each objective are in `masked_lm.py`, `denoising.py` and `unilm.py`.
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
from ...metrics.metric import Metric
from ...metrics.pretraining import pretraining_metrics
from ...metrics.score import Score
from ...models import OutputLayer
from ...search import SearchConfig
from ..base import SAMPLES, Batch, Objective, Rows, Task, Validation, Validator, device_of
from .config import MaskedConfig

FIXED = (0, 0)
"""Replaces (seed, epoch) in validation."""
TOKENS = 4096  # in a batch of a validation, padding included
CHUNK = 1024  # predictions scored at once; each has a logit for every token

Labels = tuple[Tensor, Tensor]
"""The correct tokens or classes (n,), and the batch row of each (n,)."""


@dataclass(frozen=True)
class TextPassage:
    """Tokens of one document, with a generator for their random draws.

    Attributes:
        sentence_starts: for each token, whether it starts a sentence.
    """

    index: int
    tokens: np.ndarray
    sentence_starts: np.ndarray
    rng: np.random.Generator


@dataclass(frozen=True)
class PretrainScores:
    """The scores of a model on a corrupted set.

    Attributes:
        floors: for each accuracy, the value of always predicting the most frequent label.
    """

    scores: dict[str, Score]
    floors: dict[str, float]
    n_passages: int


class Pretrain(Task):
    """Restores corrupted text, to initialise other tasks; one subclass for each objective.

    Attributes:
        config: the settings of the objective.
        parts: the predictions, in the order of the parts of the loss.
        stored: codec of the prepared passages; special tokens are added after corruption.
        alphabet: the properties of the tokenizer that corruption needs.
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

    @property
    def metric_table(self) -> dict[str, Metric]:
        return pretraining_metrics(*self.parts)

    def with_codecs(self, codec: TextCodec) -> Self:
        """The task with this tokenizer.

        Raises:
            ConfigError: the tokenizer lacks a special token that the objective needs.
        """
        specials = codec.tokenizer.specials
        for name in self.extra_specials:
            if name not in specials:
                raise ConfigError(
                    f"pretrain.objective = {self.config.objective!r} needs the special token "
                    f"{name!r}, which this tokenizer does not have; choose another objective, or "
                    "start without init"
                )
        task = self.without_codecs()
        task.codec, task.stored = codec, TextCodec(codec.tokenizer, ends=False)
        task.alphabet = make_alphabet(codec)
        return task

    @property
    def extra_specials(self) -> tuple[str, ...]:
        """Special tokens that the objective needs besides the usual ones."""
        return ("mask",)

    def fit_codecs(self, rows: Rows, text: TextConfig) -> Self:
        """Trains the tokenizer on documents."""
        texts = (row[0] for row in rows())
        codec = fit_codec(texts, text, reads=True, extra_specials=self.extra_specials)
        return self.with_codecs(codec)

    def save_codecs(self, folder: Path) -> None:
        """Writes `tokenizer.json`."""
        self.codec.save(folder / "tokenizer.json")

    def load_codecs(self, folder: Path) -> Self:
        return self.with_codecs(TextCodec.load(folder / "tokenizer.json", reads=True))

    @property
    def codecs(self) -> dict[str, TextCodec]:
        return {"text": self.stored}

    def block(self, data: DataConfig) -> int:
        room = data.block - self.n_special
        least, content = (2, "two texts") if "next" in self.parts else (1, "a text")
        if room < least:
            raise ConfigError(
                f"data.block = {data.block} has no room for {content}: {self.n_special} of the "
                "tokens are special tokens; raise it"
            )
        return room

    @property
    def n_special(self) -> int:
        """The most special tokens that are added to a passage."""
        return 2

    def passages(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None
    ) -> Iterator[TextPassage]:
        """Stored passages, each with its random generator."""
        tokens, lengths = store["text"].take(indices)
        starts, _ = store[SENTENCE].take(indices)
        cuts = np.cumsum(lengths)[:-1]
        parts = zip(indices.tolist(), np.split(tokens, cuts), np.split(starts, cuts), strict=True)
        for index, ids, flags in parts:
            yield TextPassage(index, ids, flags, draws(*(draw or FIXED), DAMAGE_STREAM, index))

    @abstractmethod
    def labels(self, batch: Batch) -> dict[str, Labels]:
        """The labels of each part."""

    @abstractmethod
    def output_states(self, model: Any, batch: Batch) -> dict[str, tuple[OutputLayer, Tensor]]:
        """The output layer of each part, and its input states (n, D)."""

    @abstractmethod
    def samples(self, model: Any, batch: Batch, search: SearchConfig) -> list[tuple[str, str, str]]:
        """Input, output and reference of each row, as text."""

    def objective(self, model: Any, label_smoothing: float) -> "PretrainLoss":
        return PretrainLoss(self, model, label_smoothing)

    def validator(
        self, store: Store, data: DataConfig, metric: str, sample: int, search: SearchConfig
    ) -> "PretrainValidator":
        return PretrainValidator(self, store, metric, search)

    def fixed_batches(self, store: Store) -> Iterator[Batch]:
        """Batches of a whole set, with the fixed corruption of validation."""
        for indices in Batches(store, self.lengths, TOKENS, seed=0).epoch(0):
            yield self.batch(store, indices)

    @torch.inference_mode()
    def judge(self, model: Any, store: Store, resamples: int = 0) -> PretrainScores:
        """The scores of a model on a set, with the fixed corruption of validation."""
        device = device_of(model)
        tallies: dict[str, list[np.ndarray]] = {part: [] for part in self.parts}
        labels: dict[str, list[np.ndarray]] = {part: [] for part in self.parts}
        for made in self.fixed_batches(store):
            batch = {name: value.to(device) for name, value in made.items()}
            states, n_rows = self.output_states(model, batch), len(next(iter(batch.values())))
            for part, (targets, rows) in self.labels(batch).items():
                tallies[part].append(_tally(*states[part], targets, rows, n_rows))
                labels[part].append(targets.cpu().numpy())
        scores, floors, metrics = {}, {}, self.metric_table
        for part in self.parts:
            nll, right, counts = np.concatenate(tallies[part]).T
            for name, values in ((f"{part}_loss", nll), (f"{part}_accuracy", right)):
                scores[name] = metrics[name](values, counts, resamples=resamples)
            most = np.bincount(np.concatenate(labels[part])).max()
            floors[f"{part}_accuracy"] = float(100 * most / counts.sum())
        return PretrainScores(scores, floors, len(store))

    def to_text(self, ids: Sequence[int]) -> str:
        """The text of tokens, with the names of special tokens."""
        tokenizer, is_control = self.codec.tokenizer, self.alphabet.is_control
        spellings = tokenizer.spellings()
        names = tokenizer.tokens(ids)
        parts = [
            f" {name} ".encode() if is_control[index] else spellings[index]
            for index, name in zip(ids, names, strict=True)
        ]
        return " ".join(b"".join(parts).decode(errors="replace").split())


def make_alphabet(codec: TextCodec) -> Alphabet:
    """The properties of a tokenizer that corruption needs."""
    tokenizer = codec.tokenizer
    is_control = np.zeros(tokenizer.size, bool)
    is_control[list(tokenizer.specials.values())] = True
    begins_word = np.array([spelling[:1].isspace() for spelling in tokenizer.spellings()])
    specials = tokenizer.specials
    numbered = (specials.get(f"sentinel_{number}") for number in range(len(specials)))
    sentinels = tuple(index for index in numbered if index is not None)
    return Alphabet(is_control, begins_word, specials.get("mask"), sentinels)


def _tally(
    output: OutputLayer, states: Tensor, targets: Tensor, rows: Tensor, n_rows: int
) -> np.ndarray:
    """Negative log likelihood, correct predictions and number of labels of each row (B, 3)."""
    tally = torch.zeros(n_rows, 3, dtype=torch.float64)
    for chunk, labels, indices in zip(
        *(part.split(CHUNK) for part in (states, targets, rows)), strict=True
    ):
        log_probs = output(chunk).float().log_softmax(-1)  # (n, V)
        nll = -log_probs.gather(1, labels[:, None])[:, 0]
        right = log_probs.argmax(-1) == labels
        terms = torch.stack([nll.double(), right.double(), torch.ones_like(nll).double()], dim=1)
        tally.index_add_(0, indices.cpu(), terms.cpu())
    return tally.numpy()


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
    """Loss and accuracy over the whole set, and a few samples; the corruption never changes."""

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

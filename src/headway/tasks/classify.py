"""A label for a text or a pair of texts: what `task = "classify"` means.

One or two text columns and one label column, cross-entropy over the labels, and how often they are
right.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from ..data.batches import Batches
from ..data.codecs import Codec, TextCodec, TextConfig
from ..data.corpora import DataConfig
from ..data.labels import LabelCodec
from ..data.store import Store
from ..errors import DataError
from ..metrics.labels import accuracy, macro_f1
from ..metrics.score import Score
from ..models import Vocabularies
from ..search import SearchConfig
from .loss import Batch, Objective, ReadingObjective
from .task import Rows, Task
from .texts import Texts
from .validation import SAMPLES, TOKENS, Validation, Validator, device_of


class Classify(Task):
    """The task with its codecs."""

    name = "classify"
    columns: tuple[str, ...] = ("text", "text2", "label")
    optional = frozenset({"text2"})
    needs = frozenset({"classify"})
    family = "encoder"
    metrics = ("accuracy", "macro_f1")
    validated = metrics

    def __init__(self, texts: Texts, labels: LabelCodec) -> None:
        self.texts = texts
        self.labels = labels
        self.columns = tuple(self.codecs)
        self.lengths = texts.lengths

    @classmethod
    def learn(cls, rows: Rows, text: TextConfig) -> "Classify":  # type: ignore[override]
        """Learns the tokenizer from the texts, and which labels there are."""
        labels = LabelCodec.learn(row[-1] for row in rows())
        return cls(Texts.learn(rows, text), labels)

    @classmethod
    def adopt(cls, folder: Path, rows: Rows) -> "Classify":
        labels = LabelCodec.learn(row[-1] for row in rows())
        return cls(Texts.adopt(folder, rows), labels)

    def save(self, folder: Path) -> None:
        """What the texts save, and `labels.json`."""
        self.texts.save(folder)
        self.labels.save(folder / "labels.json")

    @classmethod
    def load(cls, folder: Path) -> "Classify":
        return cls(Texts.load(folder), LabelCodec.load(folder / "labels.json"))

    @property
    def codec(self) -> TextCodec:
        """That of the texts."""
        return self.texts.codec

    @property
    def codecs(self) -> dict[str, Codec]:
        return {**self.texts.codecs, "label": self.labels}

    def sizes(self, lengths: Mapping[str, Any]) -> Mapping[str, Any]:
        return self.texts.sizes(lengths)

    @property
    def vocabularies(self) -> Vocabularies:
        return Vocabularies(self.codec.tokenizer.size, len(self.labels), shared=False)

    def describe(self) -> dict[str, Any]:
        sizes = self.vocabularies
        return {
            "kind": self.codec.tokenizer.settings.kind,
            "source": sizes.source,
            "target": sizes.target,
            "shared": False,
            "labels": list(self.labels.labels),
        }

    def batch(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None = None
    ) -> dict[str, Tensor]:
        """Shape: src, src_valid and of pairs segment (B, S), label (B,)."""
        labels, _ = store["label"].take(indices)
        return {
            **self.texts.batch(store, indices, draw),
            "label": torch.from_numpy(labels.astype(np.int64)),
        }

    def objective(self, model: Any, label_smoothing: float) -> "LabelLoss":
        return LabelLoss(model, label_smoothing)

    def validator(
        self, store: Store, data: DataConfig, metric: str, sample: int, search: SearchConfig
    ) -> "LabelValidator":
        return LabelValidator(self, store, metric)

    def sequences(self, store: Store) -> "LabelledTexts":
        """Every text with the number of its label.

        Raises:
            DataError: nothing is left of a label.
        """
        examples = LabelledTexts(self.texts, store)
        there = np.bincount(examples.labels, minlength=len(self.labels)) > 0
        if not there.all():
            missing = self.labels.labels[int(there.argmin())]
            raise DataError(
                f"of the label {missing!r} no training example could be used, they are empty or "
                "longer than data.max_length; mend or remove them, or raise it"
            )
        return examples

    @torch.inference_mode()
    def predict(self, model: Any, texts: Sequence[np.ndarray]) -> np.ndarray:
        """The probability of each label, of encoded texts in the order given, (n, labels)."""
        found = np.empty((len(texts), len(self.labels)))
        for rows, batch in self.texts.batches(texts, device_of(model)):
            found[rows] = model.logits(batch).double().softmax(-1).cpu().numpy()
        return found

    def judge(
        self, name: str, outputs: Sequence[str], references: Sequence[str], resamples: int = 0
    ) -> Score:
        """One metric of labels against the right ones."""
        if name == "accuracy":
            return accuracy(outputs, references)
        if name == "macro_f1":
            return macro_f1(outputs, references, resamples)
        raise self.unknown_metric(name)


class LabelledTexts:
    """The examples of a store: tokens, and the number of their label."""

    def __init__(self, texts: Texts, store: Store) -> None:
        self._texts, self._store = texts, store
        self.labels, _ = store["label"].take(np.arange(len(store)))

    def __iter__(self) -> Iterator[tuple[np.ndarray, int]]:
        for i, label in enumerate(self.labels.tolist()):
            yield self._texts.tokens(self._texts.stored(self._store, i)), label


class LabelLoss(ReadingObjective):
    """Model and label-smoothed cross-entropy; without smoothing in evaluation mode."""

    def __init__(self, model: Any, smoothing: float) -> None:
        super().__init__()
        self.model = model
        self.weights = {"loss": 1.0}
        self.smoothing = smoothing

    def counts(self, batch: Batch) -> dict[str, int]:
        return {"loss": batch["label"].numel()}

    def sums(self, batch: Batch) -> dict[str, Tensor]:
        logits = self.model.logits(batch)  # (B, V)
        smoothing = self.smoothing if self.training else 0.0
        total = cross_entropy(
            logits.float(), batch["label"], reduction="sum", label_smoothing=smoothing
        )
        return {"loss": total}


class LabelValidator(Validator):
    """Loss, accuracy and macro-F1 over all of the set, and a few examples."""

    def __init__(self, task: Classify, store: Store, metric: str) -> None:
        super().__init__(metric, task.prefers_less(metric))
        self.task = task
        self.store = store
        self.references = [self._label(i) for i in range(len(store))]

    def batches(self) -> Iterator[Batch]:
        sized = self.task.sized(self.store)
        for indices in Batches(sized, self.task.lengths, TOKENS, seed=0).epoch(0):
            yield self.task.batch(self.store, indices)

    def measure(self, objective: Objective, loss: float, limited: bool) -> Validation:
        read = self.task.texts
        texts = [read.stored(self.store, i) for i in range(len(self.store))]
        best = self.task.predict(objective.model, texts).argmax(1)
        outputs = [self.task.labels.decode([number]) for number in best]
        figures = {
            name: self.task.judge(name, outputs, self.references).value
            for name in self.task.validated
        }
        step = max(1, len(texts) // SAMPLES)
        samples = [
            (read.shown(self.store, i), outputs[i], self.references[i])
            for i in range(0, len(texts), step)
        ]
        return Validation(figures, samples[:SAMPLES])

    def _label(self, index: int) -> str:
        return self.task.labels.decode(self.store["label"][index].tolist())

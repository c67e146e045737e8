"""A number for a text or a pair of texts: what `task = "regress"` means.

The model learns the scaled value by squared error; what it says is scaled back.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..data.batches import Batches
from ..data.codecs import Codec, TextCodec, TextConfig
from ..data.corpora import DataConfig
from ..data.store import Store
from ..data.values import ValueCodec
from ..metrics.score import Score
from ..metrics.values import mean_squared_error, pearson, spearman
from ..models import Vocabularies
from ..search import SearchConfig
from .loss import Batch, Objective, ReadingObjective
from .members import members_of
from .task import Rows, Task
from .texts import Texts
from .validation import SAMPLES, TOKENS, Validation, Validator, device_of


class Regress(Task):
    """The task with its codecs."""

    name = "regress"
    columns: tuple[str, ...] = ("text", "text2", "value")
    optional = frozenset({"text2"})
    needs = frozenset({"read"})
    family = "encoder"
    metrics = ("spearman", "pearson", "mse")
    validated = metrics
    lower_is_better = frozenset({"mse"})

    def __init__(self, texts: Texts, value: ValueCodec) -> None:
        self.texts = texts
        self.value = value
        self.columns = tuple(self.codecs)
        self.lengths = texts.lengths

    @classmethod
    def learn(cls, rows: Rows, text: TextConfig) -> "Regress":  # type: ignore[override]
        """Learns the tokenizer from the texts, and the scale of the values."""
        value = ValueCodec.learn(row[-1] for row in rows())
        return cls(Texts.learn(rows, text), value)

    @classmethod
    def adopt(cls, folder: Path, rows: Rows) -> "Regress":
        value = ValueCodec.learn(row[-1] for row in rows())
        return cls(Texts.adopt(folder, rows), value)

    def save(self, folder: Path) -> None:
        """What the texts save, and `value.json`."""
        self.texts.save(folder)
        self.value.save(folder / "value.json")

    @classmethod
    def load(cls, folder: Path) -> "Regress":
        return cls(Texts.load(folder), ValueCodec.load(folder / "value.json"))

    @property
    def codec(self) -> TextCodec:
        """Of the texts."""
        return self.texts.codec

    @property
    def codecs(self) -> dict[str, Codec]:
        return {**self.texts.codecs, "value": self.value}

    def sizes(self, lengths: Mapping[str, Any]) -> Mapping[str, Any]:
        return self.texts.sizes(lengths)

    @property
    def vocabularies(self) -> Vocabularies:
        return Vocabularies(self.codec.tokenizer.size, 1, shared=False)

    def describe(self) -> dict[str, Any]:
        return {
            "kind": self.codec.tokenizer.settings.kind,
            "source": self.vocabularies.source,
            "target": 1,
            "shared": False,
            "value": {"mean": self.value.mean, "deviation": self.value.deviation},
        }

    def batch(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None = None
    ) -> dict[str, Tensor]:
        """Shape: src, src_valid and of pairs segment (B, S), value (B,), scaled."""
        values, _ = store["value"].take(indices)
        return {
            **self.texts.batch(store, indices, draw),
            "value": torch.from_numpy(values.astype(np.float32)),
        }

    def objective(self, model: Any, label_smoothing: float) -> "ValueLoss":
        return ValueLoss(model)

    def validator(
        self, store: Store, data: DataConfig, metric: str, sample: int, search: SearchConfig
    ) -> "ValueValidator":
        return ValueValidator(self, store, metric)

    @torch.inference_mode()
    def predict(self, model: Any, texts: Sequence[np.ndarray]) -> np.ndarray:
        """The value of each encoded text, in the order given (n,); of an ensemble their mean."""
        found = np.empty(len(texts))
        members = members_of(model)
        for rows, batch in self.texts.batches(texts, device_of(model)):
            scaled = torch.stack([one.logits(batch)[:, 0].double() for one in members]).mean(0)
            found[rows] = self.value.unscale(scaled.cpu().numpy())
        return found

    def judge(
        self,
        name: str,
        outputs: Sequence[float],
        references: Sequence[float],
        resamples: int = 0,
    ) -> Score:
        """One metric of values against the right ones."""
        if name == "spearman":
            return spearman(outputs, references)
        if name == "pearson":
            return pearson(outputs, references)
        if name == "mse":
            return mean_squared_error(outputs, references, resamples)
        raise self.unknown_metric(name)


class ValueLoss(ReadingObjective):
    """Model and squared error of scaled values: 1 is what their mean alone would give."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.weights = {"loss": 1.0}

    def counts(self, batch: Batch) -> dict[str, int]:
        return {"loss": batch["value"].numel()}

    def sums(self, batch: Batch) -> dict[str, Tensor]:
        found = self.model.logits(batch)[:, 0].float()  # (B,)
        return {"loss": ((found - batch["value"]) ** 2).sum()}


class ValueValidator(Validator):
    """Loss, correlations and squared error over all of the set, and a few examples."""

    def __init__(self, task: Regress, store: Store, metric: str) -> None:
        super().__init__(metric, task.prefers_less(metric))
        self.task = task
        self.store = store
        scaled, _ = store["value"].take(np.arange(len(store)))
        self.references = task.value.unscale(scaled.astype(np.float64))

    def batches(self) -> Iterator[Batch]:
        sized = self.task.sized(self.store)
        for indices in Batches(sized, self.task.lengths, TOKENS, seed=0).epoch(0):
            yield self.task.batch(self.store, indices)

    def measure(self, objective: Objective, loss: float, limited: bool) -> Validation:
        n, texts = len(self.store), self.task.texts
        encoded = [texts.stored(self.store, i) for i in range(n)]
        found = self.task.predict(objective.model, encoded)
        figures = {
            name: self.task.judge(name, found.tolist(), self.references.tolist()).value
            for name in self.task.validated
        }
        samples = [
            (texts.shown(self.store, i), f"{found[i]:.4g}", f"{self.references[i]:.4g}")
            for i in range(0, n, max(1, n // SAMPLES))
        ]
        return Validation(figures, samples[:SAMPLES])

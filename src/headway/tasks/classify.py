"""`task = "classify"`: a label for a text, a pair of texts or a series.

Cross-entropy over the labels, accuracy and macro F1.
"""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from torch import Tensor
from torch.nn.functional import cross_entropy

from ..data.codecs.labels import LabelCodec
from ..data.config import DataConfig
from ..data.store import Store
from ..errors import DataError
from ..metrics.labels import LABEL_METRICS
from ..search import SearchConfig
from .base import Batch, EncoderObjective, Rows
from .inputs import Inputs
from .sequence_prediction import SequencePrediction, SequenceValidator
from .text_inputs import TextInputs


class Classify(SequencePrediction):
    """A label for each text, pair of texts or series."""

    name = "classify"
    trained_class = "headway.inference.classifier:Classifier"
    columns: tuple[str, ...] = ("text", "text2", "series", "label")
    needs = frozenset({"classify"})
    metric_table = LABEL_METRICS
    output_codec = LabelCodec
    output_file = "labels.json"
    output_dtype = np.int64

    @property
    def labels(self) -> LabelCodec:
        codec: LabelCodec = self.output
        return codec

    @property
    def n_outputs(self) -> int:
        return len(self.labels)

    def with_classes_of(self, rows: Rows) -> Self:
        return self.with_codecs(self.inputs, LabelCodec.fit(row[-1] for row in rows()))

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "labels": list(self.labels.labels)}

    def remarks(self, store: Store) -> list[str]:
        labels, _ = store["label"].take(np.arange(len(store)))
        counts = np.bincount(labels, minlength=len(self.labels))
        return [f"warning: {line}" for line in self.labels.suspicions(counts)]

    def objective(self, model: Any, label_smoothing: float) -> "LabelLoss":
        return LabelLoss(model, label_smoothing)

    def validator(
        self, store: Store, data: DataConfig, metric: str, sample: int, search: SearchConfig
    ) -> "LabelValidator":
        return LabelValidator(self, store, metric)

    def sequences(self, store: Store) -> "LabelledTexts":
        """Every text with the index of its label.

        Raises:
            DataError: a label has no usable example.
        """
        examples = LabelledTexts(self.inputs, store)
        is_used = np.bincount(examples.labels, minlength=len(self.labels)) > 0
        if not is_used.all():
            missing = self.labels.labels[int(is_used.argmin())]
            raise DataError(
                f"no training example of the label {missing!r} can be used: all are empty or "
                "longer than data.max_length; fix or remove them, or raise data.max_length"
            )
        return examples

    def outputs_of(self, logits: Tensor) -> Tensor:
        """The probability of each label (B, labels)."""
        return logits.softmax(-1)


class LabelledTexts:
    """The examples of a store: the tokens and the index of the label of each."""

    def __init__(self, texts: Inputs, store: Store) -> None:
        assert isinstance(texts, TextInputs)  # counting families read tokens only
        self._texts, self._store = texts, store
        self.labels, _ = store["label"].take(np.arange(len(store)))

    def __iter__(self) -> Iterator[tuple[np.ndarray, int]]:
        for i, label in enumerate(self.labels.tolist()):
            yield self._texts.tokens(self._texts.stored(self._store, i)), label


class LabelLoss(EncoderObjective):
    """Model and label-smoothed cross-entropy of the labels."""

    def counts(self, batch: Batch) -> dict[str, int]:
        return {"loss": batch["label"].numel()}

    def sums(self, batch: Batch) -> dict[str, Tensor]:
        logits = self.model.logits(batch).float()  # (B, V)
        total = cross_entropy(
            logits, batch["label"], reduction="sum", label_smoothing=self.smoothing
        )
        return {"loss": total}


class LabelValidator(SequenceValidator):
    """Loss, accuracy and macro F1."""

    task: Classify

    def __init__(self, task: Classify, store: Store, metric: str) -> None:
        super().__init__(task, store, metric)
        labels = (store["label"][i].tolist() for i in range(len(store)))
        self.references = [task.labels.decode(label) for label in labels]

    def outputs(self, model: Any) -> list[str]:
        best = self.task.predict(model, self.encoded).argmax(1)
        return [self.task.labels.decode([index]) for index in best]

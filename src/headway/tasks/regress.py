"""`task = "regress"`: a number for a text, a pair of texts or a series.

The model is trained on scaled values by squared error; predictions are scaled back.
"""

from typing import Any

import numpy as np
from torch import Tensor

from ..data.codecs.values import ValueCodec
from ..data.config import DataConfig
from ..data.store import Store
from ..metrics.values import VALUE_METRICS
from ..search import SearchConfig
from .base import Batch, EncoderObjective
from .sequence_prediction import SequencePrediction, SequenceValidator


class Regress(SequencePrediction):
    """A number for each text, pair of texts or series."""

    name = "regress"
    trained_class = "headway.inference.regressor:Regressor"
    columns: tuple[str, ...] = ("text", "text2", "series", "value")
    needs = frozenset({"read"})
    metric_table = VALUE_METRICS
    output_codec = ValueCodec
    output_file = "value.json"
    output_dtype = np.float32

    @property
    def value(self) -> ValueCodec:
        codec: ValueCodec = self.output
        return codec

    def describe(self) -> dict[str, Any]:
        scale = {"mean": self.value.mean, "deviation": self.value.deviation}
        return {**super().describe(), "value": scale}

    def objective(self, model: Any, label_smoothing: float) -> "ValueLoss":
        return ValueLoss(model)

    def validator(
        self, store: Store, data: DataConfig, metric: str, sample: int, search: SearchConfig
    ) -> "ValueValidator":
        return ValueValidator(self, store, metric)

    def outputs_of(self, logits: Tensor) -> Tensor:
        """The values (B,)."""
        return self.value.unscale(logits[:, 0])


class ValueLoss(EncoderObjective):
    """Model and squared error of scaled values; always predicting their mean would give 1."""

    def counts(self, batch: Batch) -> dict[str, int]:
        return {"loss": batch["value"].numel()}

    def sums(self, batch: Batch) -> dict[str, Tensor]:
        scaled = self.model.logits(batch)[:, 0].float()  # (B,)
        return {"loss": ((scaled - batch["value"]) ** 2).sum()}


class ValueValidator(SequenceValidator):
    """Loss, correlations and squared error."""

    def __init__(self, task: Regress, store: Store, metric: str) -> None:
        super().__init__(task, store, metric)
        scaled, _ = store["value"].take(np.arange(len(store)))
        self.references = task.value.unscale(scaled.astype(np.float64)).tolist()

    def outputs(self, model: Any) -> list[float]:
        values: list[float] = self.task.predict(model, self.encoded).tolist()
        return values

    def text(self, output: float) -> str:
        return f"{output:.4g}"

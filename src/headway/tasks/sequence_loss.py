"""Teacher-forced cross-entropy of a sequence-to-sequence model."""

from torch import Tensor

from ..models import SequenceModel
from .loss import Batch, Objective


class SequenceLoss(Objective):
    """Model and label-smoothed cross-entropy; without smoothing in evaluation mode."""

    def __init__(self, model: SequenceModel, smoothing: float) -> None:
        super().__init__()
        self.model = model
        self.weights = {"loss": 1.0}
        self.smoothing = smoothing

    def counts(self, batch: Batch) -> dict[str, int]:
        return {"loss": int(batch["tgt_valid"].sum())}

    def sums(self, batch: Batch) -> dict[str, Tensor]:
        hidden = self.model(batch)  # (B, T, D)
        valid = batch["tgt_valid"]
        smoothing = self.smoothing if self.training else 0.0
        targets = batch["tgt_out"][valid]
        return {"loss": self.model.output.cross_entropy(hidden[valid], targets, smoothing)}

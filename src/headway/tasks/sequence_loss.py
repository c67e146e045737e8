"""Teacher-forced cross-entropy of models that write sequences, learned or counted."""

from typing import Any

import torch
from torch import Tensor

from ..models import SequenceModel
from ..search import forced
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


class CountedLoss(Objective):
    """The same of a model that was counted: it gives log probabilities, and nothing is learned."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.weights = {"loss": 1.0}

    def counts(self, batch: Batch) -> dict[str, int]:
        return {"loss": int(batch["tgt_valid"].sum())}

    def sums(self, batch: Batch) -> dict[str, Tensor]:
        of_tokens: Any = self.model.log_probs
        log_probs = of_tokens(batch["tgt_in"], batch["tgt_out"])  # (B, T)
        return {"loss": -log_probs[batch["tgt_valid"]].sum()}


@torch.inference_mode()
def forced_log_probs(model: Any, batch: Batch, bos: int) -> Tensor:
    """The log probability of each valid target, row by row (n,).

    In one pass where the model can, else step by step, as for an ensemble.
    """
    valid, targets = batch["tgt_valid"], batch["tgt_out"]
    if isinstance(model, SequenceModel):
        return model.output.log_probs(model(batch)[valid], targets[valid])
    if hasattr(model, "log_probs"):
        counted: Tensor = model.log_probs(batch["tgt_in"], targets)[valid]
        return counted
    # What is not scored but stands before something that is, is context; the rest is padding.
    is_real = valid.flip(1).cumsum(1).flip(1) > 0
    return forced(model, batch, targets, is_real, bos=bos)[valid]

"""The loss of answers: which token of a window is their first one, and which the last."""

from typing import Any

import torch
from torch import Tensor

from .loss import Batch, ReadingObjective


class SpanLoss(ReadingObjective):
    """Model and cross-entropy of the first and the last token of the answer, among those that may
    be it; label-smoothed in training."""

    def __init__(self, model: Any, smoothing: float) -> None:
        super().__init__()
        self.model = model
        self.weights = {"loss": 1.0}
        self.smoothing = smoothing

    def counts(self, batch: Batch) -> dict[str, int]:
        return {"loss": batch["start"].numel() + batch["end"].numel()}

    def sums(self, batch: Batch) -> dict[str, Tensor]:
        starts, ends = self.model.token_logits(batch).float().unbind(-1)  # (B, S) each
        allowed = batch["allowed"]
        of_starts = self._sum(starts, allowed, batch["start"])
        return {"loss": of_starts + self._sum(ends, allowed, batch["end"])}

    def _sum(self, logits: Tensor, allowed: Tensor, places: Tensor) -> Tensor:
        log_probs = logits.masked_fill(~allowed, -torch.inf).log_softmax(1)  # (B, S)
        right = log_probs.gather(1, places[:, None]).sum()
        if not (self.training and self.smoothing):
            return -right
        even = log_probs.masked_fill(~allowed, 0.0).sum(1) / allowed.sum(1)
        return -(1 - self.smoothing) * right - self.smoothing * even.sum()

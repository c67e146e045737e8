"""Cross-entropy losses: target sequences of trained or counted models, and answer spans."""

from typing import Any

import torch
from torch import Tensor

from ..models import SequenceModel
from ..search import score_targets
from .base import Batch, EncoderObjective, Objective


class SequenceLoss(Objective):
    """Model and label-smoothed cross-entropy."""

    def counts(self, batch: Batch) -> dict[str, int]:
        return {"loss": int(batch["tgt_valid"].sum())}

    def sums(self, batch: Batch) -> dict[str, Tensor]:
        hidden = self.model(batch)  # (B, T, D)
        valid = batch["tgt_valid"]
        targets = batch["tgt_out"][valid]
        return {"loss": self.model.output.cross_entropy(hidden[valid], targets, self.smoothing)}


class CountedLoss(Objective):
    """Cross-entropy of a counting model, which returns log probabilities and has no gradient."""

    def counts(self, batch: Batch) -> dict[str, int]:
        return {"loss": int(batch["tgt_valid"].sum())}

    def sums(self, batch: Batch) -> dict[str, Tensor]:
        model: Any = self.model
        log_probs = model.log_probs(batch["tgt_in"], batch["tgt_out"])  # (B, T)
        return {"loss": -log_probs[batch["tgt_valid"]].sum()}


@torch.inference_mode()
def forced_log_probs(model: Any, batch: Batch, bos: int) -> Tensor:
    """The log probability of each valid target, row by row (n,).

    Computed in one pass if the model can, otherwise step by step, as for an ensemble.
    """
    valid, targets = batch["tgt_valid"], batch["tgt_out"]
    if isinstance(model, SequenceModel):
        return model.output.log_probs(model(batch)[valid], targets[valid])
    if hasattr(model, "log_probs"):
        counted: Tensor = model.log_probs(batch["tgt_in"], targets)[valid]
        return counted
    # Unscored tokens before a scored token are context; those after the last one are padding.
    is_real = valid.flip(1).cumsum(1).flip(1) > 0
    return score_targets(model, batch, targets, is_real, bos=bos)[valid]


class SpanLoss(EncoderObjective):
    """Model and label-smoothed cross-entropy of the answer's first and last token, over the tokens
    that an answer may contain."""

    def counts(self, batch: Batch) -> dict[str, int]:
        return {"loss": batch["start"].numel() + batch["end"].numel()}

    def sums(self, batch: Batch) -> dict[str, Tensor]:
        starts, ends = self.model.token_logits(batch).float().unbind(-1)  # (B, S) each
        allowed = batch["allowed"]
        start_loss = self._sum(starts, allowed, batch["start"])
        return {"loss": start_loss + self._sum(ends, allowed, batch["end"])}

    def _sum(self, logits: Tensor, allowed: Tensor, positions: Tensor) -> Tensor:
        log_probs = logits.masked_fill(~allowed, -torch.inf).log_softmax(1)  # (B, S)
        labels = log_probs.gather(1, positions[:, None]).sum()
        if not self.smoothing:
            return -labels
        uniform = log_probs.masked_fill(~allowed, 0.0).sum(1) / allowed.sum(1)
        return -(1 - self.smoothing) * labels - self.smoothing * uniform.sum()

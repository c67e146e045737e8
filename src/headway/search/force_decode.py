"""Forced scoring: the log probabilities of outputs that are already known.

It calls `step` for each token, as a search does, so that both give the same scores.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from ..nn.decoding import StepModel
from .candidates import log_normaliser


@torch.inference_mode()
def score_targets(
    model: StepModel,
    batch: Mapping[str, Tensor],
    targets: Tensor,
    valid: Tensor,
    *,
    bos: int,
    normalise: bool = True,
) -> Tensor:
    """The log probability of each target token after those before it, 0 at padding.

    Args:
        targets: tokens to score, END included if it is scored too.
        valid: True at the tokens, False at the padding after them.
        normalise: False takes the logits as log probabilities.

    Shape: targets and valid (B, T) -> (B, T).
    """
    scores = torch.zeros(targets.shape, device=targets.device)
    if not targets.numel():
        return scores
    # Padding may be any number, even one without an embedding.
    targets = targets.masked_fill(~valid, bos)
    start = torch.full_like(targets[:, :1], bos)
    inputs = torch.cat([start, targets[:, :-1]], dim=1)[:, None]  # (B, 1, T)
    state = model.start(batch)
    for t in range(targets.size(1)):
        logits, state = model.step(inputs[..., t : t + 1], state)
        logits = logits.squeeze(1).float()  # (B, V)
        score = logits.gather(1, targets[:, t : t + 1])
        if normalise:
            score = score - log_normaliser(logits, logits.amax(dim=1, keepdim=True))
        scores[:, t] = score.squeeze(1)
    return scores.masked_fill(~valid, 0.0)

"""The attention function that all modules call: `softmax(score) V`.

Score functions are in `scores`. Scores that are products use PyTorch's fused kernel, except while
`capture` records, with dropout of weights, or when values and keys differ in width, which the CPU
kernel refuses.
"""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from .capture import Attended, recorder
from .dropout import factors
from .masks import Mask, Shared
from .scores import AttentionScore, ScaledDot

FEW = 16
"""Up to this many queries, plain matrix products are used in place of the fused kernel."""

SCALED_DOT = ScaledDot()

Attends = Literal["self", "decoder", "cross"]
"""What a module attends to: its own input sequence, the target so far, or the source."""


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Mask | None = None,
    bias: Tensor | None = None,
    dropout: float = 0.0,
    owner: nn.Module | None = None,
    score: AttentionScore = SCALED_DOT,
) -> Tensor:
    """`softmax(score(query, key)) value`; scaled dot is eq. 1 of Vaswani et al. 2017.

    Args:
        key: prepared by `score.prepare`; for scaled dot that is the key itself.
        bias: float, added to the scores (relative positions).
        dropout: rate for the weights; the caller passes 0 outside training.
        owner: the module under whose name `capture` records the weights.

    Shape: query (B,H,Q,E), key (B,H,K,E) or of the prepared width, value (B,H,K,E'), mask bool and
        bias float broadcastable to (B,H,Q,K) -> (B,H,Q,E').
    """
    record = recorder()
    compared, scale = score.as_product(query)
    is_plain = record is None and dropout == 0.0 and key.size(-1) == value.size(-1)
    if is_plain and scale is not None:
        if isinstance(mask, Shared) and _is_small(query, mask):
            return _attend_with_few(compared, key, value, mask, bias, scale)
        added = _merge(mask, bias, query)
        return scaled_dot_product_attention(compared, key, value, attn_mask=added, scale=scale)
    if isinstance(mask, Shared):
        mask = mask.mask
    scores = score.score(query, key)  # (B, H, Q, K)
    if bias is not None:
        scores = scores + bias
    weights = masked_softmax(scores, mask)
    if record is not None and owner is not None:
        record(owner, Attended(weights, compared, key, value, scale if bias is None else None))
    if dropout > 0.0:
        weights = weights * factors(weights, dropout)
    return weights @ value


def _is_small(query: Tensor, mask: Shared) -> bool:
    """Whether this is a search step on the CPU in which no query is fully masked."""
    return (
        query.size(-2) <= FEW
        and query.device.type == "cpu"
        and query.dtype == torch.float32
        and not torch.is_grad_enabled()
        and mask.is_open
    )


def _attend_with_few(
    query: Tensor, key: Tensor, value: Tensor, mask: Shared, bias: Tensor | None, scale: float
) -> Tensor:
    """Attention by plain matrix products, which beat the CPU's fused kernel for few queries."""
    B, H, Q, E = query.shape
    added = mask.added if bias is None else mask.biased(bias)
    scores = torch.bmm(query.reshape(B * H, Q, E), key.flatten(0, 1).mT)
    weights = scores.mul_(scale).view(B, H, Q, -1).add_(added).softmax(-1)
    return torch.bmm(weights.flatten(0, 1), value.flatten(0, 1)).view(B, H, Q, -1)


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax over the unmasked scores of the last dimension; a fully masked row is all zeros."""
    if mask is None:
        return scores.softmax(-1)
    hidden = ~mask
    weights = scores.masked_fill(hidden, -torch.inf).softmax(-1)
    return weights.masked_fill(hidden, 0.0)  # turns the NaNs of a fully masked row into zeros


def _merge(mask: Mask | None, bias: Tensor | None, query: Tensor) -> Tensor | None:
    """Mask and bias as the single boolean or additive mask that the fused kernel accepts."""
    if bias is None:
        return mask.mask if isinstance(mask, Shared) else mask
    if mask is None:
        return bias.to(query.dtype)
    shared = mask if isinstance(mask, Shared) else Shared(mask)
    return shared.biased(bias).to(query.dtype)

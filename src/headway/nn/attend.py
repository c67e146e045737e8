"""Attention itself, for every caller: `softmax(score) V`.

Scores are those of `scores`. Those that are products take PyTorch's fused kernel unless someone is
looking (`capture`), weights are dropped, or the value width differs from the key width, which the
CPU kernel refuses.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from .capture import Attended, recorder
from .dropout import factors
from .masks import Mask, Shared
from .scores import ScaledDot, Score

FEW = 16
"""Queries up to which plain products are taken."""

SCALED_DOT = ScaledDot()


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Mask | None = None,
    bias: Tensor | None = None,
    dropout: float = 0.0,
    owner: nn.Module | None = None,
    score: Score = SCALED_DOT,
) -> Tensor:
    """`softmax(score(query, key)) value`; scaled dot is eq. 1 of Vaswani et al. 2017.

    Args:
        key: as `score.prepare` made it, which for scaled dot is the key itself.
        bias: float, added to the scores (relative positions).
        dropout: rate for the weights, already zero outside training.
        owner: the module under whose name `capture` records the weights.

    Shape: query (B,H,Q,E), key (B,H,K,E), value (B,H,K,E'), mask bool and bias float
        broadcastable to (B,H,Q,K) -> (B,H,Q,E').
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
    """Whether this is a step of a search on the CPU, with something to see for every query."""
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
    """The same for few queries: plain products then beat the CPU's fused kernel."""
    B, H, Q, E = query.shape
    added = mask.added if bias is None else mask.biased(bias)
    scores = torch.bmm(query.reshape(B * H, Q, E), key.flatten(0, 1).mT)
    weights = scores.mul_(scale).view(B, H, Q, -1).add_(added).softmax(-1)
    return torch.bmm(weights.flatten(0, 1), value.flatten(0, 1)).view(B, H, Q, -1)


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax over the last dimension of what the mask allows; zeros where it allows nothing."""
    if mask is None:
        return scores.softmax(-1)
    hidden = ~mask
    weights = scores.masked_fill(hidden, -torch.inf).softmax(-1)
    return weights.masked_fill(hidden, 0.0)  # a row of -inf alone is NaN, and all of it is masked


def _merge(mask: Mask | None, bias: Tensor | None, query: Tensor) -> Tensor | None:
    """The one additive or boolean mask the fused kernel takes."""
    if bias is None:
        return mask.mask if isinstance(mask, Shared) else mask
    if mask is None:
        return bias.to(query.dtype)
    shared = mask if isinstance(mask, Shared) else Shared(mask)
    return shared.biased(bias).to(query.dtype)

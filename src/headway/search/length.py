"""Length limits and minimums of outputs, and length normalisation of scores.

`|y|` counts END throughout.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from .config import SearchConfig


def length_limits(batch: Mapping[str, Tensor], config: SearchConfig) -> Tensor:
    """The longest `|y|` allowed for each sentence, from its own source length.

    Shape: `batch["src_valid"]` bool (B, S) -> int64 (B,).

    Raises:
        ValueError: the batch has no source.
    """
    sources = _source_lengths(batch, "pass limits= with one length per sentence")
    relative = sources * config.max_ratio + config.max_extra
    return relative.clamp(min=1, max=config.max_length).long()


def length_minimums(
    batch: Mapping[str, Tensor], config: SearchConfig, limits: Tensor | None = None
) -> Tensor:
    """The shortest `|y|` allowed for each sentence, never above its limit.

    Args:
        limits: largest `|y|` per sentence (B,); by default from the source.

    Shape: `batch["src_valid"]` bool (B, S) -> int64 (B,).

    Raises:
        ValueError: the batch has no source, and a limit or minimum depends on it.
    """
    limits = length_limits(batch, config) if limits is None else limits
    minimums = torch.full_like(limits, config.min_length)
    if config.min_ratio:
        # Rounded before it is rounded up, so that 1.1 times 10 is 11 and not 12.
        sources = _source_lengths(batch, "leave min_ratio at 0")
        relative = (sources * config.min_ratio).round(decimals=3).ceil()
        minimums = minimums.maximum(relative.minimum(limits).long())
    return minimums.minimum(limits)


def _source_lengths(batch: Mapping[str, Tensor], alternative: str) -> Tensor:
    if "src_valid" not in batch:
        raise ValueError(
            f"no source length in the batch, which has {sorted(batch)}; "
            f"pass 'src_valid' (B, S), or {alternative}"
        )
    return batch["src_valid"].sum(dim=1)


def length_score(log_prob: Tensor, length: Tensor | int, alpha: float) -> Tensor:
    """`log p / |y|**alpha`; an unfinished hypothesis without tokens counts as length 1."""
    lengths = torch.as_tensor(length, device=log_prob.device, dtype=log_prob.dtype)
    return log_prob / lengths.clamp(min=1) ** alpha


def best_attainable(log_prob: Tensor, length: int, limits: Tensor, alpha: float) -> Tensor:
    """An upper bound on the score of any finished continuation of a live hypothesis.

    Log probabilities only fall, so no continuation ends above `log_prob`. Because it is negative,
    its score is best at the largest `|y|**alpha` in reach: at the limit for alpha > 0, at the next
    step for alpha < 0.

    Args:
        length: tokens so far, without END.
        limits: largest `|y|` per sentence (B,).

    Shape: log_prob (B, N) -> (B, N).
    """
    reach = limits if alpha > 0 else torch.full_like(limits, length + 1)
    return length_score(log_prob, reach[:, None], alpha)

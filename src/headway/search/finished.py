"""Finished and cut-off hypotheses, collected during a search.

`FinishedHypotheses` keeps a few per sentence, the best by score. It stores where a hypothesis ends,
not its tokens: `Backtrace` recovers those once, when the search is over.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from .length import length_score


class HypothesisEnds(NamedTuple):
    """Where hypotheses end. Shape: each (B, C)."""

    score: Tensor
    """After length normalisation; -inf if the entry is empty."""
    log_prob: Tensor
    end_log_prob: Tensor
    """Log probability of END; unused for unfinished hypotheses."""
    n_tokens: Tensor
    """Without END."""
    slot: Tensor
    """Index in the beam after the last token."""


class FinishedHypotheses:
    """The best `size` hypotheses per sentence, best first, and the number of all added ones."""

    def __init__(self, n_sentences: int, size: int, device: torch.device) -> None:
        numbers = torch.full((3, n_sentences, size), -torch.inf, device=device)
        indices = torch.zeros((2, n_sentences, size), dtype=torch.long, device=device)
        self.ends = HypothesisEnds(*numbers, *indices)
        self.count = torch.zeros(n_sentences, dtype=torch.long, device=device)

    def add(self, rows: Tensor, ends: HypothesisEnds) -> None:
        """Adds hypotheses of the sentences `rows` (B',), if good enough; ignores empty entries."""
        is_offered = ends.score > -torch.inf
        if not is_offered.any():
            return
        self.count[rows] += is_offered.sum(dim=1)
        merged = HypothesisEnds(
            *(torch.cat([old[rows], new], dim=1) for old, new in zip(self.ends, ends, strict=True))
        )
        best = merged.score.topk(self.ends.score.size(1), dim=1).indices
        for kept, field in zip(self.ends, merged, strict=True):
            kept[rows] = field.gather(1, best)

    def worst(self, rows: Tensor) -> Tensor:
        """The worst score kept for each sentence, -inf while fewer than `size` are kept (B',)."""
        return self.ends.score[rows, -1]


def finished_ends(
    log_prob: Tensor, end_log_prob: Tensor, slot: Tensor, n_tokens: int, alpha: float
) -> HypothesisEnds:
    """Hypotheses (B, N) with END after `n_tokens`; `slot` is their index before END."""
    return HypothesisEnds(
        score=length_score(log_prob, n_tokens + 1, alpha),
        log_prob=log_prob,
        end_log_prob=end_log_prob,
        n_tokens=torch.full_like(slot, n_tokens),
        slot=slot,
    )


def unfinished_ends(log_prob: Tensor, n_tokens: int, alpha: float) -> HypothesisEnds:
    """The live hypotheses (B, N), cut off after `n_tokens`."""
    slot = torch.arange(log_prob.size(1), device=log_prob.device).expand(log_prob.shape)
    return HypothesisEnds(
        score=length_score(log_prob, n_tokens, alpha),
        log_prob=log_prob,
        end_log_prob=torch.zeros_like(log_prob),
        n_tokens=torch.full_like(slot, n_tokens),
        slot=slot,
    )

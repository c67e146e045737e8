"""Hypotheses put aside while the search goes on.

A shelf has a few places per sentence and keeps the best by score. It holds where a hypothesis ends,
not its tokens: those are back-tracked once, from the history, when the search is over.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from .length import length_score


class HypothesisEnds(NamedTuple):
    """Where hypotheses end. Shape: each (B, C)."""

    score: Tensor
    """After length normalisation; -inf marks an empty place."""
    log_prob: Tensor
    end_log_prob: Tensor
    """Of END itself; unused for unfinished hypotheses."""
    n_tokens: Tensor
    """Without END."""
    place: Tensor
    """The hypothesis' index in the beam after its last token."""


class FinishedHypotheses:
    """The best `size` hypotheses per sentence, best first, and how many were ever added."""

    def __init__(self, n_sentences: int, size: int, device: torch.device) -> None:
        numbers = torch.full((3, n_sentences, size), -torch.inf, device=device)
        indices = torch.zeros((2, n_sentences, size), dtype=torch.long, device=device)
        self.ends = HypothesisEnds(*numbers, *indices)
        self.count = torch.zeros(n_sentences, dtype=torch.long, device=device)

    def add(self, rows: Tensor, ends: HypothesisEnds) -> None:
        """Offers hypotheses of the sentences `rows` (B',); empty places are ignored."""
        offered = ends.score > -torch.inf
        if not offered.any():
            return
        self.count[rows] += offered.sum(dim=1)
        merged = HypothesisEnds(
            *(torch.cat([old[rows], new], dim=1) for old, new in zip(self.ends, ends, strict=True))
        )
        best = merged.score.topk(self.ends.score.size(1), dim=1).indices
        for kept, field in zip(self.ends, merged, strict=True):
            kept[rows] = field.gather(1, best)

    def worst(self, rows: Tensor) -> Tensor:
        """The score of the last place of each sentence, -inf while there is room (B',)."""
        return self.ends.score[rows, -1]


def finished_ends(
    log_prob: Tensor, end_log_prob: Tensor, place: Tensor, n_tokens: int, alpha: float
) -> HypothesisEnds:
    """Hypotheses (B, N) that took END after `n_tokens`; `place` is where those tokens stood."""
    return HypothesisEnds(
        score=length_score(log_prob, n_tokens + 1, alpha),
        log_prob=log_prob,
        end_log_prob=end_log_prob,
        n_tokens=torch.full_like(place, n_tokens),
        place=place,
    )


def unfinished_ends(log_prob: Tensor, n_tokens: int, alpha: float) -> HypothesisEnds:
    """The live hypotheses (B, N), cut off after `n_tokens`."""
    place = torch.arange(log_prob.size(1), device=log_prob.device).expand(log_prob.shape)
    return HypothesisEnds(
        score=length_score(log_prob, n_tokens, alpha),
        log_prob=log_prob,
        end_log_prob=torch.zeros_like(log_prob),
        n_tokens=torch.full_like(place, n_tokens),
        place=place,
    )

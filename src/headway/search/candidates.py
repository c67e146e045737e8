"""What may come next: the best continuations of the live hypotheses, and which of them end.

Normalisation is one log-sum-exp per hypothesis, applied to the few logits that were chosen.
Impossible continuations have log probability -inf and stay so; they never become NaN.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from ..errors import RunError
from ..nn.step import select


class Candidates(NamedTuple):
    """Continuations of a sentence's hypotheses, best first. Shape: each (B, C)."""

    log_prob: Tensor
    """Of the whole hypothesis; -inf marks an empty place."""
    token_log_prob: Tensor
    parent: Tensor
    """Index of the hypothesis that is continued."""
    token: Tensor

    def take(self, indices: Tensor) -> "Candidates":
        """The candidates at indices (B, C') -> (B, C')."""
        return Candidates(*(select(field, indices) for field in self))


def log_normaliser(logits: Tensor, largest: Tensor) -> Tensor:
    """log sum exp of logits (..., V), given the largest of each row (..., 1) -> (..., 1).

    A row of -inf alone gives 0, so that subtracting it leaves -inf.
    """
    shift = largest.masked_fill(largest == -torch.inf, 0.0)
    total = (logits - shift).exp_().sum(dim=-1, keepdim=True)
    return torch.where(total > 0, shift + total.log(), 0.0)


def check_numbers(log_probs: Tensor) -> None:
    """Refuses NaN, which would otherwise win or vanish without a word.

    Raises:
        RunError: the model does not compute any more.
    """
    if log_probs.isnan().any():
        raise RunError(
            "the model's output is not a number (NaN), expected logits; its training diverged or "
            "its weights are damaged: use an earlier checkpoint or train with a lower learning rate"
        )


def best_candidates(logits: Tensor, live: Tensor, k: int, normalise: bool = True) -> Candidates:
    """Up to 2k continuations of each sentence, best first, at most k + 1 of one hypothesis.

    Each hypothesis can end in one way only, so these hold the best k that go on and every END
    among the k best; below that they are not a full ranking.

    Args:
        live: log probabilities of the hypotheses so far (B, N), N <= k, -inf for an empty place.
        normalise: False takes the logits as log probabilities.

    Shape: logits (B, N, V).
    """
    n_sentences, n_live, n_vocab = logits.shape
    # One hypothesis contributes at most k that go on and its END: k + 1 of each are enough.
    width = min(k + 1, n_vocab)
    values, tokens = logits.float().topk(width, dim=-1)  # (B, N, k+1)
    if normalise:
        values = values - log_normaliser(logits.float(), values[..., :1])
    check_numbers(values)
    totals = (live[..., None] + values).view(n_sentences, n_live * width)
    log_prob, chosen = totals.topk(min(2 * k, n_live * width), dim=-1)  # (B, 2k)
    return Candidates(
        log_prob=log_prob,
        token_log_prob=values.view(n_sentences, -1).gather(1, chosen),
        parent=chosen // width,
        token=tokens.view(n_sentences, -1).gather(1, chosen),
    )


def split_ended(candidates: Candidates, eos: int, k: int) -> tuple[Candidates, Candidates]:
    """Those that end and those that go on, at most k of each.

    An END counts only among the k best candidates: a hypothesis finishes when it would have stayed
    in the beam, which makes a beam of one greedy search.
    """
    k = min(k, candidates.token.size(1))
    is_end = candidates.token == eos
    top = Candidates(*(field[:, :k] for field in candidates))
    ended = top._replace(log_prob=top.log_prob.masked_fill(~is_end[:, :k], -torch.inf))
    going = candidates._replace(log_prob=candidates.log_prob.masked_fill(is_end, -torch.inf))
    return ended, going.take(going.log_prob.topk(k, dim=1).indices)

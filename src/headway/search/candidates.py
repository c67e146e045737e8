"""The best continuations of the live hypotheses, split into those that end and those that do not.

Normalisation is one log-sum-exp per hypothesis, applied only to the chosen logits. Impossible
continuations keep log probability -inf; they never become NaN.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from ..errors import RunError
from ..nn.decoding import select

BLOCK = 64
LARGE = 2**18  # number of logits from which block maxima are faster


class Candidates(NamedTuple):
    """Continuations of a sentence's hypotheses, best first. Shape: each (B, C)."""

    log_prob: Tensor
    """Of the whole hypothesis; -inf if the entry is empty."""
    token_log_prob: Tensor
    parent: Tensor
    """Index of the hypothesis that is continued."""
    token: Tensor

    def take(self, indices: Tensor) -> "Candidates":
        """The candidates at indices (B, C') -> (B, C')."""
        return Candidates(*(select(field, indices) for field in self))


def log_normaliser(logits: Tensor, largest: Tensor) -> Tensor:
    """log sum exp of logits (..., V), from the largest of each row (..., 1) -> (..., 1).

    A row of only -inf gives 0, so that subtracting it leaves -inf.
    """
    # Fused softmax is the fastest pass over a long row; its largest entry is
    # 1 / sum(exp(logits - largest)).
    top = logits.softmax(dim=-1).amax(dim=-1, keepdim=True)
    return torch.where(largest == -torch.inf, 0.0, largest - top.log())


def check_numbers(log_probs: Tensor) -> None:
    """Refuses NaN, which would otherwise win or disappear silently.

    Raises:
        RunError: a log probability is NaN.
    """
    if log_probs.isnan().any():
        raise RunError(
            "the model's output is not a number (NaN), expected logits; its training diverged or "
            "its weights are damaged: use an earlier checkpoint or train with a lower learning rate"
        )


def best_candidates(
    logits: Tensor,
    live: Tensor,
    k: int,
    normalise: bool = True,
    ban: Callable[[Tensor], None] | None = None,
) -> Candidates:
    """The 2k best continuations of each sentence, best first.

    Each hypothesis can end in one way only, so these include the best k that do not end and every
    END among the k best.

    Args:
        live: log probabilities of the hypotheses so far (B, N), N <= k, -inf for an empty slot.
        normalise: False takes the logits as log probabilities.
        ban: sets logits of forbidden tokens to -inf, in place; the other tokens keep their
            probabilities.

    Shape: logits (B, N, V).
    """
    logits = logits.float()
    normaliser = torch.zeros_like(live)
    if normalise:
        normaliser = log_normaliser(logits, logits.amax(dim=-1, keepdim=True)).squeeze(-1)
    if ban is not None:
        ban(logits)
    parent, token = _largest(logits, live - normaliser, 2 * k)
    sentence = torch.arange(logits.size(0), device=logits.device)[:, None]
    token_log_prob = logits[sentence, parent, token] - normaliser.gather(1, parent)
    check_numbers(token_log_prob)
    return Candidates(live.gather(1, parent) + token_log_prob, token_log_prob, parent, token)


def _largest(logits: Tensor, offset: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Row and column of each sentence's largest `logits + offset`, at most `width`, in order.

    Shape: logits (B, N, V), offset (B, N) -> (B, C) each.
    """
    V = logits.size(-1)
    if logits.numel() < LARGE or V < 2 * BLOCK:
        values, columns = logits.topk(min(width, V), dim=-1)  # (B, N, C)
        totals = (values + offset[..., None]).flatten(1)
        chosen = totals.topk(min(width, totals.size(1)), dim=1).indices
        return chosen // columns.size(2), columns.flatten(1).gather(1, chosen)
    # The largest entries are in the blocks with the largest maxima. Finding maxima is many times
    # faster than sorting, and only the chosen blocks are sorted.
    n_blocks, rest = divmod(V, BLOCK)
    blocks = logits[..., : V - rest].unflatten(-1, (n_blocks, BLOCK))
    maxima = (blocks.amax(dim=-1) + offset[..., None]).flatten(1)  # (B, N*n_blocks)
    best = maxima.topk(min(width, maxima.size(1)), dim=1).indices
    row, block = best // n_blocks, best % n_blocks
    sentence = torch.arange(logits.size(0), device=logits.device)[:, None]
    inside = blocks[sentence, row, block] + offset.gather(1, row)[..., None]  # (B, C, BLOCK)
    outside = logits[..., V - rest :] + offset[..., None]  # (B, N, rest): the partial block
    totals = torch.cat([inside.flatten(1), outside.flatten(1)], dim=1)
    chosen = totals.topk(min(width, totals.size(1)), dim=1).indices
    beyond = chosen - inside[0].numel()
    position = (chosen // BLOCK).clamp(max=best.size(1) - 1)
    at_end = beyond >= 0
    return (
        torch.where(at_end, beyond // max(rest, 1), row.gather(1, position)),
        torch.where(
            at_end,
            V - rest + beyond % max(rest, 1),
            block.gather(1, position) * BLOCK + chosen % BLOCK,
        ),
    )


def split_ended(candidates: Candidates, eos: int, k: int) -> tuple[Candidates, Candidates]:
    """The candidates that end and those that do not, at most k of each.

    An END counts only among the k best candidates: a hypothesis finishes when it would have stayed
    in the beam, which makes a beam of one greedy search.
    """
    k = min(k, candidates.token.size(1))
    is_end = candidates.token == eos
    top = Candidates(*(field[:, :k] for field in candidates))
    ended = top._replace(log_prob=top.log_prob.masked_fill(~is_end[:, :k], -torch.inf))
    kept = candidates._replace(log_prob=candidates.log_prob.masked_fill(is_end, -torch.inf))
    # In the order of the candidates, even if scores are tied: a trace relies on it.
    return ended, kept.take(is_end.byte().argsort(dim=1, stable=True)[:, :k])

"""Beam search (k hypotheses per sentence, finished ones put aside, the beam refilled).

A sentence is done when its stop rule says so, at its length limit, or when nothing can follow; done
sentences leave the batch. What is alive is indexed by row of the present batch, what is remembered
by sentence of the original one; `rows` leads from one to the other.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from ..nn.step import StepModel
from .candidates import Candidates, best_candidates, split_ended
from .config import SearchConfig
from .history import History, read_hypotheses
from .length import best_attainable, length_limits
from .result import Hypothesis
from .shelf import Shelf, finished_ends, unfinished_ends

DEFAULT = SearchConfig()


@torch.inference_mode()
def beam(
    model: StepModel,
    batch: Mapping[str, Tensor],
    *,
    bos: int,
    eos: int,
    config: SearchConfig = DEFAULT,
    limits: Tensor | None = None,
    normalise: bool = True,
) -> list[list[Hypothesis]]:
    """The n best hypotheses of each sentence, best first.

    Finished hypotheses come first. Where fewer than `n_best` finished, the best of those still
    alive at the length limit follow with `finished=False`. Where none finished and nothing can
    follow (a model may call every token impossible), the last ones alive are returned, so every
    sentence has at least one hypothesis.

    Args:
        limits: largest `|y|` per sentence (B,), END counted; from the source when not given.
        normalise: False takes the logits as log probabilities, for tables whose rows do not sum
            to one.
    """
    limits = length_limits(batch, config) if limits is None else limits
    if not len(limits):
        return []
    k, alpha = config.beam, config.alpha
    rows = torch.arange(len(limits), device=limits.device)
    live = torch.zeros(len(limits), 1, device=limits.device)  # (B, N): one until the first step
    tokens = torch.full((len(limits), 1, 1), bos, device=limits.device)
    finished = Shelf(len(limits), config.n_best, limits.device)
    unfinished = Shelf(len(limits), config.n_best, limits.device)
    history = History()
    state = model.start(batch)

    n_tokens = 0  # of every live hypothesis
    while True:
        logits, state = model.step(tokens, state)
        best = best_candidates(logits, live, k, normalise)
        ended, going = split_ended(best, eos, k)
        history.append(rows, going.parent, going.token, going.token_log_prob)
        ends = finished_ends(ended.log_prob, ended.token_log_prob, ended.parent, n_tokens, alpha)
        finished.add(rows, ends)

        is_stuck = (going.log_prob == -torch.inf).all(dim=1)
        is_lost = is_stuck & (finished.count[rows] == 0)
        unfinished.add(rows[is_lost], unfinished_ends(live[is_lost], n_tokens, alpha))
        n_tokens += 1
        is_long = limits <= n_tokens
        unfinished.add(rows[is_long], unfinished_ends(going.log_prob[is_long], n_tokens, alpha))

        is_done = is_stuck | is_long | _can_stop(rows, going, finished, n_tokens, limits, config)
        if is_done.all():
            break
        live, parent, tokens = going.log_prob, going.parent, going.token[..., None]
        if is_done.any():
            stay = (~is_done).nonzero().squeeze(1)
            rows, limits, state = rows[stay], limits[stay], state.keep(stay)
            live, parent, tokens = live[stay], parent[stay], tokens[stay]
        state = state.reorder(parent)
    return read_hypotheses(history, finished, unfinished, config.n_best)


def _can_stop(
    rows: Tensor,
    going: Candidates,
    finished: Shelf,
    n_tokens: int,
    limits: Tensor,
    config: SearchConfig,
) -> Tensor:
    """Which sentences the stop rule ends (B,)."""
    if config.stop == "finished":
        return finished.count[rows] >= config.beam
    bound = best_attainable(going.log_prob, n_tokens, limits, config.alpha).amax(dim=1)
    return finished.worst(rows) >= bound

"""Greedy search: the likeliest token at each step, one hypothesis per sentence.

Equal to a beam of one with `stop = "finished"`, without what a beam has to carry around.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from ..nn.step import StepModel
from .candidates import check_numbers, log_normaliser
from .config import SearchConfig
from .history import History, read_hypotheses
from .length import length_limits
from .result import Hypothesis
from .shelf import Shelf, finished_ends, unfinished_ends

DEFAULT = SearchConfig()


@torch.inference_mode()
def greedy(
    model: StepModel,
    batch: Mapping[str, Tensor],
    *,
    bos: int,
    eos: int,
    config: SearchConfig = DEFAULT,
    limits: Tensor | None = None,
    normalise: bool = True,
) -> list[Hypothesis]:
    """One hypothesis per sentence; unfinished at its length limit or where nothing can follow.

    Args:
        config: its lengths and alpha; what concerns the beam has no meaning here.
        limits: largest `|y|` per sentence (B,), END counted; from the source when not given.
        normalise: False takes the logits as log probabilities.
    """
    limits = length_limits(batch, config) if limits is None else limits
    if not len(limits):
        return []
    rows = torch.arange(len(limits), device=limits.device)
    live = torch.zeros(len(limits), 1, device=limits.device)  # (B, 1)
    tokens = torch.full((len(limits), 1), bos, device=limits.device)
    finished = Shelf(len(limits), 1, limits.device)
    unfinished = Shelf(len(limits), 1, limits.device)
    history = History()
    state = model.start(batch)

    n_tokens = 0
    while True:
        logits, state = model.step(tokens[..., None], state)
        largest, tokens = logits.float().max(dim=-1, keepdim=True)  # (B, 1, 1)
        if normalise:
            largest = largest - log_normaliser(logits.float(), largest)
        check_numbers(largest)
        log_prob, tokens = largest.squeeze(2), tokens.squeeze(2)
        place = torch.zeros_like(tokens)
        history.append(rows, place, tokens, log_prob)

        is_stuck = (log_prob == -torch.inf).squeeze(1)
        unfinished.add(rows[is_stuck], unfinished_ends(live[is_stuck], n_tokens, config.alpha))
        live = live + log_prob
        is_end = tokens == eos
        ended = live.masked_fill(~is_end, -torch.inf)
        finished.add(rows, finished_ends(ended, log_prob, place, n_tokens, config.alpha))
        n_tokens += 1
        is_long = (limits <= n_tokens) & ~is_end.squeeze(1)
        unfinished.add(rows[is_long], unfinished_ends(live[is_long], n_tokens, config.alpha))

        is_done = is_stuck | is_end.squeeze(1) | is_long
        if is_done.all():
            break
        if is_done.any():
            stay = (~is_done).nonzero().squeeze(1)
            rows, limits, state = rows[stay], limits[stay], state.keep(stay)
            live, tokens = live[stay], tokens[stay]
    return [best for (best,) in read_hypotheses(history, finished, unfinished, n_best=1)]

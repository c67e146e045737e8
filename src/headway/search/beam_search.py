"""Beam search: k live hypotheses per sentence; a finished one is stored and its slot refilled.

A sentence is done when its stop rule applies, at its length limit, or when nothing can follow. Live
hypotheses are indexed by row of the current batch, stored ones by sentence of the original batch;
`rows` maps rows to sentences. Done sentences stay as empty rows until enough of them can be removed
at once, because shrinking a batch copies it.
"""

from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor

from ..nn.decoding import StepModel, select
from .backtrace import Backtrace, read_hypotheses
from .candidates import Candidates, best_candidates, split_ended
from .config import SearchConfig
from .finished import FinishedHypotheses, finished_ends, unfinished_ends
from .length import best_attainable, length_limits
from .logits_rules import LogitsRules, make_logits_rules
from .result import Hypothesis
from .trace import Tracer

DEFAULT = SearchConfig()
LEAVE = 0.125  # share of done sentences at which they are removed from the batch


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
    rules: LogitsRules | None = None,
    prefix: Tensor | None = None,
    tracer: Tracer | None = None,
) -> list[list[Hypothesis]]:
    """The n best hypotheses of each sentence, best first.

    Finished hypotheses come first. If fewer than `n_best` finished, the best ones alive at the
    length limit follow with `finished=False`. If none finished and nothing can follow (a model may
    give every token probability 0), the last live ones are returned, so every sentence has at least
    one hypothesis.

    Args:
        limits: largest `|y|` per sentence (B,), END counted; by default from the source.
        normalise: False takes the logits as log probabilities, for tables whose rows do not sum
            to one.
        rules: rules for forbidden tokens; by default those of the settings.
        prefix: tokens that every hypothesis continues (B, P); outputs omit them.
        tracer: records every step.
    """
    limits = length_limits(batch, config) if limits is None else limits
    if not len(limits):
        return []
    rules = make_logits_rules(batch, config, eos=eos, limits=limits) if rules is None else rules
    search = _Beam(limits, eos, config, tracer)
    tokens = first_tokens(limits, bos, prefix)[:, None]  # (B, 1, 1 + P)
    past = tokens[..., :0]  # (B, N, n): only rules use it
    state = model.start(batch)
    while True:
        logits, state = model.step(tokens, state)
        ban = None if rules is None else partial(rules.apply, past=past, rows=search.rows)
        kept = search.advance(best_candidates(logits, search.live, config.beam, normalise, ban))
        parent, tokens = kept.parent, kept.token[..., None]
        if search.is_done.all():
            return read_hypotheses(
                search.history, search.finished, search.unfinished, config.n_best
            )
        if search.is_done.float().mean() >= LEAVE:
            stay = search.leave()
            state, past = state.keep(stay), past[stay]
            parent, tokens = parent[stay], tokens[stay]
        state = state.reorder(parent)
        if rules is not None:
            past = torch.cat([select(past, parent), tokens], dim=2)


def first_tokens(limits: Tensor, bos: int, prefix: Tensor | None) -> Tensor:
    """The tokens before the first chosen one: BOS and the prefix, (B, 1 + P)."""
    start = torch.full((len(limits), 1), bos, device=limits.device)
    return start if prefix is None else torch.cat([start, prefix], dim=1)


class _Beam:
    """The state of a beam search between two steps of the model.

    Attributes:
        rows: the sentence of each row of the batch (B,).
        live: log probabilities of the live hypotheses (B, N), -inf for an empty slot.
        is_done: rows to be removed from the batch (B,).
    """

    def __init__(
        self, limits: Tensor, eos: int, config: SearchConfig, tracer: Tracer | None
    ) -> None:
        n_sentences, device = len(limits), limits.device
        self.limits, self.eos, self.config, self.tracer = limits, eos, config, tracer
        self.rows = torch.arange(n_sentences, device=device)
        self.live = torch.zeros(n_sentences, 1, device=device)  # one slot until the first step
        self.is_done = torch.zeros(n_sentences, dtype=torch.bool, device=device)
        self.finished = FinishedHypotheses(n_sentences, config.n_best, device)
        self.unfinished = FinishedHypotheses(n_sentences, config.n_best, device)
        self.history = Backtrace()
        self.n_tokens = 0  # of every live hypothesis

    def advance(self, best: Candidates) -> Candidates:
        """Processes the candidates of a step; returns the new live hypotheses."""
        rows, alpha = self.rows, self.config.alpha
        ended, kept = split_ended(best, self.eos, self.config.beam)
        if self.tracer is not None:
            self.tracer.record(rows, best, self.n_tokens)
        self.history.append(rows, kept.parent, kept.token, kept.token_log_prob)
        self.finished.add(
            rows,
            finished_ends(ended.log_prob, ended.token_log_prob, ended.parent, self.n_tokens, alpha),
        )
        is_stuck = (kept.log_prob == -torch.inf).all(dim=1)
        if is_stuck.any():
            is_lost = is_stuck & (self.finished.count[rows] == 0)
            lost = unfinished_ends(self.live[is_lost], self.n_tokens, alpha)
            self.unfinished.add(rows[is_lost], lost)
        self.n_tokens += 1
        is_at_limit = self.limits <= self.n_tokens
        if is_at_limit.any():
            cut = unfinished_ends(kept.log_prob[is_at_limit], self.n_tokens, alpha)
            self.unfinished.add(rows[is_at_limit], cut)
        self.is_done = is_stuck | is_at_limit | self._can_stop(kept)
        self.live = kept.log_prob.masked_fill(self.is_done[:, None], -torch.inf)
        return kept

    def leave(self) -> Tensor:
        """Removes the done sentences; returns the rows that stay."""
        stay = (~self.is_done).nonzero().squeeze(1)
        self.rows, self.limits, self.live = self.rows[stay], self.limits[stay], self.live[stay]
        self.is_done = self.is_done[stay]
        return stay

    def _can_stop(self, kept: Candidates) -> Tensor:
        """Which sentences the stop rule ends (B,)."""
        if self.config.stop == "finished":
            return self.finished.count[self.rows] >= self.config.beam
        bound = best_attainable(kept.log_prob, self.n_tokens, self.limits, self.config.alpha)
        return self.finished.worst(self.rows) >= bound.amax(dim=1)

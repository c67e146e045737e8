"""Beam search with required and forbidden terms.

Dynamic beam allocation (Post and Vilar 2018): the slots of the beam are divided over levels, by
how much of the constraints is met, so that a hypothesis that has just paid for a rare word does not
compete with those that have not decoded it yet. The model is stepped for the whole batch; the state
of the constraints is kept in plain Python, because it depends on the text of each hypothesis.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..nn.decoding import StepModel
from .candidates import check_numbers, log_normaliser
from .config import SearchConfig
from .constraints import (
    INITIAL,
    Constraints,
    ConstraintState,
    PartialMatch,
    Text,
    TextSoFar,
    Tracker,
)
from .length import best_attainable, length_limits, length_score
from .logits_rules import LogitsRules, make_logits_rules
from .result import Hypothesis
from .trace import Fate, TracedCandidate, Tracer

DEFAULT = SearchConfig()
WIDENED = 4  # times as many tokens are considered if forbidden terms left too few


class Partial(NamedTuple):
    """A live hypothesis."""

    tokens: tuple[int, ...]
    steps: tuple[float, ...]
    """Log probability of each token."""
    log_prob: float
    state: ConstraintState
    matches: tuple[PartialMatch, ...]
    """The partial matches, and those that may start with the next token."""


class NextToken(NamedTuple):
    """A token that may follow a hypothesis."""

    token: int
    log_prob: float
    """Of the hypothesis with this token."""
    token_log_prob: float
    is_wanted: bool
    """Whether it advances the constraints."""


class ConstrainedCandidate(NamedTuple):
    """A continuation that may be kept."""

    next_token: NextToken
    parent: int
    state: ConstraintState
    """After the token; the parent's state if the token is END."""
    is_end: bool


@torch.inference_mode()
def constrained(
    model: StepModel,
    batch: Mapping[str, Tensor],
    constraints: Sequence[Constraints],
    *,
    bos: int,
    eos: int,
    text: Text,
    config: SearchConfig = DEFAULT,
    limits: Tensor | None = None,
    normalise: bool = True,
    rules: LogitsRules | None = None,
    tracer: Tracer | None = None,
) -> list[list[Hypothesis]]:
    """The n best hypotheses of each sentence that meet its constraints, best first.

    A sentence without constraints gets the same result as from `beam`. A sentence with required
    terms has more slots than `config.beam` (see `count_slots`). If too few hypotheses end with
    every term, those with the most terms follow, with the missing ones in `unmet`. Forbidden terms
    appear in no hypothesis. As in `beam`, every sentence has at least one hypothesis.

    Args:
        constraints: the terms of each sentence.
        text: decodes tokens.
        limits: largest `|y|` per sentence (B,), END counted; by default from the source.
        normalise: False takes the logits as log probabilities.
        rules: rules for forbidden tokens; by default those of the settings.
        tracer: records every step.
    """
    limits = length_limits(batch, config) if limits is None else limits
    texts = TextSoFar(text)
    sentences = [
        SentenceSearch(Tracker(terms, texts), eos, limit, config)
        for terms, limit in zip(constraints, limits.tolist(), strict=True)
    ]
    if not sentences:
        return []
    rules = make_logits_rules(batch, config, eos=eos, limits=limits) if rules is None else rules
    device = limits.device
    alive = list(range(len(sentences)))
    tokens = torch.full((len(alive), 1, 1), bos, device=device)
    state = model.start(batch)
    while True:
        logits, state = model.step(tokens, state)
        active = [sentences[row] for row in alive]
        rows = torch.tensor(alive, device=device)
        _find_candidates(active, *_apply_rules(logits, active, rows, normalise, rules))
        parents = [sentence.advance() for sentence in active]
        if tracer is not None:
            for row in alive:
                tracer.add(row, sentences[row].traced_candidates())
        stay = [i for i, sentence in enumerate(active) if not sentence.is_done]
        if not stay:
            return [sentence.results() for sentence in sentences]
        if len(stay) < len(alive):
            state = state.keep(torch.tensor(stay, device=device))
            alive = [alive[i] for i in stay]
        newest = [[partial.tokens[-1] for partial in sentences[row].live] for row in alive]
        tokens = _pad(newest, eos, device)[..., None]
        state = state.reorder(_pad([parents[i] for i in stay], 0, device))


def count_slots(constraints: Constraints, k: int) -> int:
    """The number of live hypotheses of a sentence: k, and k more for each required term.

    Hypotheses that are decoding a term then take no slot from those that search for a better one.
    """
    return k * (1 + len(constraints.possible))


class SentenceSearch:
    """The search for a sentence: its live and ended hypotheses, and when to stop."""

    def __init__(self, tracker: Tracker, eos: int, limit: int, config: SearchConfig) -> None:
        self.tracker = tracker
        self.eos = eos
        self.limit = limit
        self.config = config
        self.n_slots = count_slots(tracker.constraints, config.beam)
        # As many as a beam can use, END included; a forbidden term usually rules out another one.
        self.n_spare = len(tracker.constraints.forbidden)
        self.n_likely = config.beam + 1 + self.n_spare
        self.n_tokens = 0
        self.is_done = False
        self.live = [Partial((), (), 0.0, INITIAL, tuple(tracker.new_matches((), INITIAL)))]
        self.complete: list[Hypothesis] = []
        self.n_complete = 0
        self.others: list[Hypothesis] = []
        self.candidates: list[ConstrainedCandidate] = []
        self.newest: tuple[
            list[ConstrainedCandidate], list[ConstrainedCandidate], list[ConstrainedCandidate]
        ] = ([], [], [])

    def wanted(self, partial: Partial) -> list[int]:
        """The tokens that advance the constraints of a hypothesis; END once they are met."""
        tokens = {match.tokens[match.n_done] for match in partial.matches}
        if self.tracker.constraints and self.tracker.is_complete(partial.state):
            tokens.add(self.eos)
        return sorted(tokens)

    def find_candidates(self, next_tokens: list[list[NextToken]], n_likely: int) -> bool:
        """Finds the candidates of a step; returns False if more tokens could change them.

        A text that may not end must continue its last word, which rules out nearly every token:
        more tokens are needed for it only if nothing else is left.

        Args:
            next_tokens: of each live hypothesis, including the `n_likely` likeliest if there are
                that many.
        """
        self.candidates, n_ruled_out = self._candidates(next_tokens)
        short = [
            i
            for i, n in n_ruled_out.items()
            if n > self.n_spare and len(next_tokens[i]) >= n_likely
        ]
        if any(candidate.state.may_end for candidate in self.candidates):
            return not any(self.live[i].state.may_end for i in short)
        return not short

    def advance(self) -> list[int]:
        """Takes a step with the candidates; returns the parents of the new live hypotheses."""
        candidates = self.candidates
        ended = [end for end in allocate_slots(candidates, self.n_slots) if end.is_end]
        for end in ended:
            self._end(end)
        kept = allocate_slots([c for c in candidates if not c.is_end], self.n_slots)
        self.newest = candidates, ended, kept
        if not kept and not self.complete and not self.others:
            self._cut_off()
        self.live = [self._extend(candidate) for candidate in kept]
        self.n_tokens += 1
        is_at_limit = self.n_tokens >= self.limit
        if is_at_limit:
            self._cut_off()
        self.is_done = not kept or is_at_limit or self._can_stop()
        return [candidate.parent for candidate in kept]

    def traced_candidates(self) -> list[TracedCandidate]:
        """The candidates of the newest step with their fates."""
        candidates, ended, kept = self.newest
        fates: dict[int, Fate] = {id(candidate): "ended" for candidate in ended}
        fates |= {id(candidate): "kept" for candidate in kept}
        others = [candidate for candidate in candidates if fates.get(id(candidate)) != "kept"]
        # Stable, so that the kept ones stay in the order of their slots.
        ranked = sorted([*kept, *others], key=lambda candidate: -candidate.next_token.log_prob)
        return [
            TracedCandidate(
                candidate.parent,
                candidate.next_token.token,
                candidate.next_token.log_prob,
                candidate.next_token.token_log_prob,
                self._score(candidate.next_token.log_prob, self.n_tokens),
                fates.get(id(candidate), "pruned"),
            )
            for candidate in ranked
        ]

    def results(self) -> list[Hypothesis]:
        """The n best hypotheses: complete ones first, then those that meet the most terms."""
        self.others.sort(key=lambda other: (len(other.unmet), not other.finished, -other.score))
        return (self.complete + self.others)[: self.config.n_best]

    def _extend(self, candidate: ConstrainedCandidate) -> Partial:
        """The live hypothesis that a candidate makes of its parent."""
        parent, new, state = self.live[candidate.parent], candidate.next_token, candidate.state
        tokens = (*parent.tokens, new.token)
        matches = (*state.matches, *self.tracker.new_matches(tokens, state))
        steps = (*parent.steps, new.token_log_prob)
        return Partial(tokens, steps, new.log_prob, state, matches)

    def _candidates(
        self, next_tokens: list[list[NextToken]]
    ) -> tuple[list[ConstrainedCandidate], Counter[int]]:
        """The continuations that can be kept, best first.

        Also, for each hypothesis, the number of tokens that would complete a forbidden term, or
        would if the text ended with them.
        """
        ranked = sorted(
            ((parent, new) for parent, row in enumerate(next_tokens) for new in row),
            key=lambda item: -item[1].log_prob,
        )
        candidates = []
        n_free: Counter[frozenset[int]] = Counter()
        n_ruled_out: Counter[int] = Counter()
        for parent, new in ranked:
            live = self.live[parent]
            is_end = new.token == self.eos
            if is_end:
                state = live.state if live.state.may_end else None
            elif new.is_wanted or n_free[live.state.met] < self.n_slots:
                tokens = (*live.tokens, new.token)
                state = self.tracker.follow(live.state.text, tokens, live.matches)
            else:
                continue
            if state is not None:
                candidates.append(ConstrainedCandidate(new, parent, state, is_end))
            if not is_end and not new.is_wanted:
                is_free = state is not None and state.may_end
                n_free[live.state.met] += is_free
                n_ruled_out[parent] += not is_free
        return candidates, n_ruled_out

    def _end(self, end: ConstrainedCandidate) -> None:
        parent = self.live[end.parent]
        steps = (*parent.steps, end.next_token.token_log_prob)
        hypothesis = self._hypothesis(parent.tokens, steps, end.next_token.log_prob, True)
        if self.tracker.is_complete(end.state):
            self.n_complete += 1
            self.complete.append(hypothesis)
            self.complete.sort(key=lambda hypothesis: -hypothesis.score)
            del self.complete[self.config.n_best :]
        else:
            self.others.append(hypothesis)

    def _cut_off(self) -> None:
        """Stores the live hypotheses as unfinished, shortened if they end with a forbidden term."""
        known = set()
        for live in self.live:
            n = self.tracker.n_allowed(live.tokens)
            tokens, steps = live.tokens[:n], live.steps[:n]
            if tokens not in known:
                known.add(tokens)
                log_prob = live.log_prob if n == len(live.tokens) else sum(steps, 0.0)
                self.others.append(self._hypothesis(tokens, steps, log_prob, False))

    def _hypothesis(
        self, tokens: tuple[int, ...], steps: tuple[float, ...], log_prob: float, finished: bool
    ) -> Hypothesis:
        score = self._score(log_prob, len(steps))
        unmet = self.tracker.unmet(tokens)
        return Hypothesis(list(tokens), log_prob, score, list(steps), finished, unmet)

    def _score(self, log_prob: float, length: int) -> float:
        return length_score(torch.tensor(log_prob), length, self.config.alpha).item()

    def _can_stop(self) -> bool:
        if self.config.stop == "finished":
            return self.n_complete >= self.config.beam
        if len(self.complete) < self.config.n_best:
            return False
        live = torch.tensor([[partial.log_prob for partial in self.live]])
        limits = torch.tensor([self.limit])
        bound = best_attainable(live, self.n_tokens, limits, self.config.alpha).max().item()
        return self.complete[-1].score >= bound


def allocate_slots(
    candidates: list[ConstrainedCandidate], n_slots: int
) -> list[ConstrainedCandidate]:
    """The candidates that get a slot, best first.

    Candidates with equal progress form a level. The levels share the slots evenly; within a level,
    candidates that have met different terms share them evenly.

    Args:
        candidates: best first.
    """
    if not candidates:
        return []
    levels: dict[tuple[int, int, bool], dict[frozenset[int], list[ConstrainedCandidate]]] = {}
    for candidate in candidates:
        level = levels.setdefault(candidate.state.level, {})
        level.setdefault(candidate.state.met, []).append(candidate)
    # First the highest level, so that a hypothesis always makes progress, then the lowest, which is
    # nearest to the output of the model without constraints.
    highest, *others = [list(levels[level].values()) for level in sorted(levels, reverse=True)]
    ordered = [highest, *others[-1:], *others[:-1]]
    shares = share_evenly(n_slots, [sum(map(len, level)) for level in ordered])
    chosen = [
        candidate
        for level, share in zip(ordered, shares, strict=True)
        for group, n in zip(level, share_evenly(share, [*map(len, level)]), strict=True)
        for candidate in group[:n]
    ]
    return sorted(chosen, key=lambda candidate: -candidate.next_token.log_prob)


def share_evenly(n: int, sizes: list[int]) -> list[int]:
    """Shares of n, handed out one by one in turn, each at most its size."""
    shares = [0] * len(sizes)
    left = min(n, sum(sizes))
    while left:
        for i, size in enumerate(sizes):
            if left and shares[i] < size:
                shares[i] += 1
                left -= 1
    return shares


def _apply_rules(
    logits: Tensor,
    sentences: Sequence[SentenceSearch],
    rows: Tensor,
    normalise: bool,
    rules: LogitsRules | None,
) -> tuple[Tensor, Tensor]:
    """The logits with forbidden tokens at -inf, and their normaliser from before.

    Shape: logits (B, N, V), rows (B,) -> (B, N, V) and (B, N, 1).
    """
    logits = logits.float()
    normaliser = torch.zeros_like(logits[..., :1])
    if normalise:
        normaliser = log_normaliser(logits, logits.amax(dim=-1, keepdim=True))
    if rules is not None:
        past = [[partial.tokens for partial in sentence.live] for sentence in sentences]
        rules.apply(logits, _pad_nested(past, logits.device), rows)
    return logits, normaliser


def _find_candidates(
    sentences: Sequence[SentenceSearch], logits: Tensor, normaliser: Tensor
) -> None:
    """Finds the candidates of every sentence, among more tokens for a sentence that needs more."""
    likely = [sentence.n_likely for sentence in sentences]
    continuations = _continuations(logits, normaliser, sentences, likely)
    for i, (sentence, n) in enumerate(zip(sentences, likely, strict=True)):
        next_tokens = continuations[i]
        while not sentence.find_candidates(next_tokens, n) and n < logits.size(-1):
            n *= WIDENED
            own = (slice(i, i + 1), slice(len(sentence.live)))
            [next_tokens] = _continuations(logits[own], normaliser[own], [sentence], [n])


def _continuations(
    logits: Tensor, normaliser: Tensor, sentences: Sequence[SentenceSearch], n_likely: Sequence[int]
) -> list[list[list[NextToken]]]:
    """The next tokens of every live hypothesis of every sentence.

    They are the `n_likely` likeliest tokens of each sentence and the tokens that its constraints
    want.

    Shape: logits (B, N, V), normaliser (B, N, 1).
    """
    device = logits.device
    wanted = [[sentence.wanted(partial) for partial in sentence.live] for sentence in sentences]
    likely = logits.topk(min(max(n_likely), logits.size(-1))).indices
    tokens = torch.cat([likely, _pad_nested(wanted, device)], dim=-1)  # (B, N, C)
    steps = logits.gather(-1, tokens) - normaliser
    check_numbers(steps)
    live = [[partial.log_prob for partial in sentence.live] for sentence in sentences]
    totals = _pad(live, -torch.inf, device)[..., None] + steps
    numbers = zip(tokens.tolist(), totals.tolist(), steps.tolist(), strict=True)
    continuations = []
    for n, ids, row in zip(n_likely, wanted, numbers, strict=True):
        # Padding comes last, both of slots and of tokens, and is left out.
        hypotheses = zip(ids, *row, strict=False)
        continuations.append([_next_tokens(*entry, n, likely.size(-1)) for entry in hypotheses])
    return continuations


def _next_tokens(
    wanted: list[int],
    tokens: list[int],
    totals: list[float],
    steps: list[float],
    n_likely: int,
    n_all: int,
) -> list[NextToken]:
    """The possible next tokens of a hypothesis, each once.

    Args:
        tokens: the `n_all` likeliest, of which `n_likely` count, then the wanted ones.
    """
    indices = {tokens[i]: i for i in range(min(n_likely, n_all))}
    indices |= {token: n_all + i for i, token in enumerate(wanted)}
    return [
        NextToken(token, totals[i], steps[i], token in wanted)
        for token, i in indices.items()
        if totals[i] > -torch.inf
    ]


def _pad(rows: Sequence[Sequence[float]], empty: float, device: torch.device) -> Tensor:
    """Rows of different lengths as a tensor (B, N), padded with `empty`."""
    width = max(map(len, rows))
    return torch.tensor([[*row, *[empty] * (width - len(row))] for row in rows], device=device)


def _pad_nested(rows: Sequence[Sequence[Sequence[int]]], device: torch.device) -> Tensor:
    """Token lists of every hypothesis of every sentence as a tensor (B, N, n), padded with 0."""
    width = max(map(len, rows))
    depth = max(len(tokens) for row in rows for tokens in row)
    padded = torch.zeros(len(rows), width, depth, dtype=torch.long)
    for i, row in enumerate(rows):
        for j, tokens in enumerate(row):
            padded[i, j, : len(tokens)] = torch.tensor(tokens, dtype=torch.long)
    return padded.to(device)

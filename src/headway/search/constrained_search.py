"""Beam search with terms that must appear and terms that must not.

Dynamic beam allocation (Post and Vilar 2018): the places of the beam are divided over levels, by
how much of the constraints is done, so that a hypothesis which has just paid for a rare word need
not compete with those that have it still before them. The model is stepped for the whole batch;
what the constraints ask of each hypothesis is kept in plain Python, because it depends on its text.
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
WIDENED = 4  # times as many tokens are looked at where what is forbidden left too few


class Partial(NamedTuple):
    """A hypothesis that is alive."""

    tokens: tuple[int, ...]
    steps: tuple[float, ...]
    """Log probability of each token."""
    log_prob: float
    standing: ConstraintState
    writings: tuple[PartialMatch, ...]
    """Those under way and those that may begin with the next token."""


class Offer(NamedTuple):
    """A token that may follow a hypothesis."""

    token: int
    log_prob: float
    """Of the whole hypothesis with it."""
    step: float
    """Of the token alone."""
    is_wanted: bool
    """Whether it leads on towards the constraints."""


class ConstrainedCandidate(NamedTuple):
    """A continuation that may be kept."""

    offer: Offer
    parent: int
    standing: ConstraintState
    """After the token; that of the parent if the token is END."""
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

    A sentence without constraints gets what `beam` gives it. One with required terms has more
    places than `config.beam` (see `n_places`). Where too few hypotheses end with every term, those
    follow that have the most of them, with the missing ones in `unmet`; what is forbidden appears
    in none. As in `beam`, every sentence has at least one hypothesis.

    Args:
        constraints: one for each sentence.
        text: decodes tokens.
        limits: largest `|y|` per sentence (B,), END counted; from the source when not given.
        normalise: False takes the logits as log probabilities.
        rules: what else may not come next; by the settings when not given.
        tracer: told of every step.
    """
    limits = length_limits(batch, config) if limits is None else limits
    texts = TextSoFar(text)
    sentences = [
        SentenceSearch(Tracker(wishes, texts), eos, limit, config)
        for wishes, limit in zip(constraints, limits.tolist(), strict=True)
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
        searched = [sentences[row] for row in alive]
        rows = torch.tensor(alive, device=device)
        _consider(searched, *_legal(logits, searched, rows, normalise, rules))
        parents = [one.advance() for one in searched]
        if tracer is not None:
            for row in alive:
                tracer.add(row, sentences[row].told())
        stay = [i for i, sentence in enumerate(searched) if not sentence.is_done]
        if not stay:
            return [sentence.results() for sentence in sentences]
        if len(stay) < len(alive):
            state = state.keep(torch.tensor(stay, device=device))
            alive = [alive[i] for i in stay]
        newest = [[one.tokens[-1] for one in sentences[row].live] for row in alive]
        tokens = _rectangle(newest, eos, device)[..., None]
        state = state.reorder(_rectangle([parents[i] for i in stay], 0, device))


def n_places(constraints: Constraints, k: int) -> int:
    """How many hypotheses of a sentence are kept alive: k, and k more for each required term.

    Those that are about to write a term then take no place from those that look for a better one.
    """
    return k * (1 + len(constraints.possible))


class SentenceSearch:
    """The search for one sentence: what is alive, what has ended, and when to stop."""

    def __init__(self, tracker: Tracker, eos: int, limit: int, config: SearchConfig) -> None:
        self.tracker = tracker
        self.eos = eos
        self.limit = limit
        self.config = config
        self.n_places = n_places(tracker.constraints, config.beam)
        # As many as a beam can use, END among them; a forbidden term usually rules out one more.
        self.n_spare = len(tracker.constraints.forbidden)
        self.n_likely = config.beam + 1 + self.n_spare
        self.n_tokens = 0
        self.is_done = False
        self.live = [Partial((), (), 0.0, INITIAL, tuple(tracker.openings((), INITIAL)))]
        self.complete: list[Hypothesis] = []
        self.n_complete = 0
        self.others: list[Hypothesis] = []
        self.candidates: list[ConstrainedCandidate] = []
        self.newest: tuple[
            list[ConstrainedCandidate], list[ConstrainedCandidate], list[ConstrainedCandidate]
        ] = ([], [], [])

    def wanted(self, one: Partial) -> list[int]:
        """The tokens that lead a hypothesis on towards its constraints, END among them."""
        tokens = {writing.tokens[writing.n_done] for writing in one.writings}
        if self.tracker.constraints and self.tracker.is_complete(one.standing):
            tokens.add(self.eos)
        return sorted(tokens)

    def consider(self, offers: list[list[Offer]], n_likely: int) -> bool:
        """Finds the candidates of a step; whether more offers could change nothing.

        A text that may not end must go on with its last word, and nearly every token is ruled out:
        only when nothing else is left are more asked for it.

        Args:
            offers: for each live hypothesis, the `n_likely` likeliest among them if there are so
                many.
        """
        self.candidates, n_ruled_out = self._candidates(offers)
        short = [
            i for i, n in n_ruled_out.items() if n > self.n_spare and len(offers[i]) >= n_likely
        ]
        if any(one.standing.may_end for one in self.candidates):
            return not any(self.live[i].standing.may_end for i in short)
        return not short

    def advance(self) -> list[int]:
        """Takes one step with what was considered; the parents of those that are alive after it."""
        candidates = self.candidates
        ended = [one for one in allot(candidates, self.n_places) if one.is_end]
        for one in ended:
            self._end(one)
        going = allot([one for one in candidates if not one.is_end], self.n_places)
        self.newest = candidates, ended, going
        if not going and not self.complete and not self.others:
            self._cut_off()
        self.live = [self._grown(one) for one in going]
        self.n_tokens += 1
        is_long = self.n_tokens >= self.limit
        if is_long:
            self._cut_off()
        self.is_done = not going or is_long or self._can_stop()
        return [one.parent for one in going]

    def told(self) -> list[TracedCandidate]:
        """The candidates of the newest step and what became of them."""
        candidates, ended, going = self.newest
        fates: dict[int, Fate] = {id(one): "ended" for one in ended}
        fates |= {id(one): "kept" for one in going}
        others = [one for one in candidates if fates.get(id(one)) != "kept"]
        # Stable, so that the kept ones stay in the order in which they live on.
        ranked = sorted([*going, *others], key=lambda one: -one.offer.log_prob)
        return [
            TracedCandidate(
                one.parent,
                one.offer.token,
                one.offer.log_prob,
                one.offer.step,
                self._score(one.offer.log_prob, self.n_tokens),
                fates.get(id(one), "pruned"),
            )
            for one in ranked
        ]

    def results(self) -> list[Hypothesis]:
        """The n best, complete ones first, then those that meet the most."""
        self.others.sort(key=lambda one: (len(one.unmet), not one.finished, -one.score))
        return (self.complete + self.others)[: self.config.n_best]

    def _grown(self, candidate: ConstrainedCandidate) -> Partial:
        one, offer, standing = self.live[candidate.parent], candidate.offer, candidate.standing
        tokens = (*one.tokens, offer.token)
        writings = (*standing.under_way, *self.tracker.openings(tokens, standing))
        return Partial(tokens, (*one.steps, offer.step), offer.log_prob, standing, writings)

    def _candidates(
        self, offers: list[list[Offer]]
    ) -> tuple[list[ConstrainedCandidate], Counter[int]]:
        """What may follow, best first, as far down as it can matter.

        Also how many offers to each hypothesis would say what is forbidden, or would if they were
        the last.
        """
        ranked = sorted(
            ((parent, offer) for parent, row in enumerate(offers) for offer in row),
            key=lambda one: -one[1].log_prob,
        )
        found = []
        n_free: Counter[frozenset[int]] = Counter()
        n_ruled_out: Counter[int] = Counter()
        for parent, offer in ranked:
            one = self.live[parent]
            is_end = offer.token == self.eos
            if is_end:
                standing = one.standing if one.standing.may_end else None
            elif offer.is_wanted or n_free[one.standing.met] < self.n_places:
                tokens = (*one.tokens, offer.token)
                standing = self.tracker.follow(one.standing.text, tokens, one.writings)
            else:
                continue
            if standing is not None:
                found.append(ConstrainedCandidate(offer, parent, standing, is_end))
            if not is_end and not offer.is_wanted:
                is_free = standing is not None and standing.may_end
                n_free[one.standing.met] += is_free
                n_ruled_out[parent] += not is_free
        return found, n_ruled_out

    def _end(self, end: ConstrainedCandidate) -> None:
        one = self.live[end.parent]
        steps = (*one.steps, end.offer.step)
        hypothesis = self._hypothesis(one.tokens, steps, end.offer.log_prob, True)
        if self.tracker.is_complete(end.standing):
            self.n_complete += 1
            self.complete.append(hypothesis)
            self.complete.sort(key=lambda one: -one.score)
            del self.complete[self.config.n_best :]
        else:
            self.others.append(hypothesis)

    def _cut_off(self) -> None:
        """Keeps what is alive as it is, shortened where it ends with a forbidden term."""
        known = set()
        for one in self.live:
            n = self.tracker.n_allowed(one.tokens)
            if one.tokens[:n] not in known:
                known.add(one.tokens[:n])
                log_prob = one.log_prob if n == len(one.tokens) else sum(one.steps[:n], 0.0)
                self.others.append(self._hypothesis(one.tokens[:n], one.steps[:n], log_prob, False))

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
        live = torch.tensor([[one.log_prob for one in self.live]])
        limits = torch.tensor([self.limit])
        bound = best_attainable(live, self.n_tokens, limits, self.config.alpha).max().item()
        return self.complete[-1].score >= bound


def allot(candidates: list[ConstrainedCandidate], n_places: int) -> list[ConstrainedCandidate]:
    """The candidates that get a place, best first.

    Those that have done equally much of the constraints are one level. The levels share the places
    evenly; within a level, so do those that have met different terms.

    Args:
        candidates: best first.
    """
    if not candidates:
        return []
    levels: dict[tuple[int, int, bool], dict[frozenset[int], list[ConstrainedCandidate]]] = {}
    for one in candidates:
        level = levels.setdefault(one.standing.level, {})
        level.setdefault(one.standing.met, []).append(one)
    # First comes the highest level, so that something always comes nearer to the goal, then the
    # lowest, which is nearest to what the model would say by itself.
    highest, *others = [list(levels[level].values()) for level in sorted(levels, reverse=True)]
    ordered = [highest, *others[-1:], *others[:-1]]
    shares = deal(n_places, [sum(map(len, level)) for level in ordered])
    chosen = [
        one
        for level, share in zip(ordered, shares, strict=True)
        for terms, n in zip(level, deal(share, [len(terms) for terms in level]), strict=True)
        for one in terms[:n]
    ]
    return sorted(chosen, key=lambda one: -one.offer.log_prob)


def deal(n: int, sizes: list[int]) -> list[int]:
    """Shares of n, dealt out one by one in turn, none larger than its size."""
    shares = [0] * len(sizes)
    left = min(n, sum(sizes))
    while left:
        for i, size in enumerate(sizes):
            if left and shares[i] < size:
                shares[i] += 1
                left -= 1
    return shares


def _legal(
    logits: Tensor,
    sentences: Sequence[SentenceSearch],
    rows: Tensor,
    normalise: bool,
    rules: LogitsRules | None,
) -> tuple[Tensor, Tensor]:
    """The logits without what the rules forbid, and the normaliser they had with it.

    Shape: logits (B, N, V), rows (B,) -> (B, N, V) and (B, N, 1).
    """
    logits = logits.float()
    normaliser = torch.zeros_like(logits[..., :1])
    if normalise:
        normaliser = log_normaliser(logits, logits.amax(dim=-1, keepdim=True))
    if rules is not None:
        past = [[one.tokens for one in sentence.live] for sentence in sentences]
        rules.apply(logits, _box(past, logits.device), rows)
    return logits, normaliser


def _consider(sentences: Sequence[SentenceSearch], logits: Tensor, normaliser: Tensor) -> None:
    """Lets every sentence find its candidates, among more tokens where it needs more."""
    likely = [sentence.n_likely for sentence in sentences]
    offers = _continuations(logits, normaliser, sentences, likely)
    for i, (sentence, n) in enumerate(zip(sentences, likely, strict=True)):
        offered = offers[i]
        while not sentence.consider(offered, n) and n < logits.size(-1):
            n *= WIDENED
            own = (slice(i, i + 1), slice(len(sentence.live)))
            [offered] = _continuations(logits[own], normaliser[own], [sentence], [n])


def _continuations(
    logits: Tensor, normaliser: Tensor, sentences: Sequence[SentenceSearch], n_likely: Sequence[int]
) -> list[list[list[Offer]]]:
    """What may follow every live hypothesis of every sentence.

    They are the likeliest tokens, so many for each sentence, and those that the constraints want.

    Shape: logits (B, N, V), normaliser (B, N, 1).
    """
    device = logits.device
    wanted = [[sentence.wanted(one) for one in sentence.live] for sentence in sentences]
    likely = logits.topk(min(max(n_likely), logits.size(-1))).indices
    tokens = torch.cat([likely, _box(wanted, device)], dim=-1)  # (B, N, C)
    steps = logits.gather(-1, tokens) - normaliser
    check_numbers(steps)
    live = [[one.log_prob for one in sentence.live] for sentence in sentences]
    totals = _rectangle(live, -torch.inf, device)[..., None] + steps
    numbers = zip(tokens.tolist(), totals.tolist(), steps.tolist(), strict=True)
    found = []
    for n, ids, row in zip(n_likely, wanted, numbers, strict=True):
        # Empty places come last and are left out, and so is what fills up the lists.
        hypotheses = zip(ids, *row, strict=False)
        found.append([_offers(*one, n, likely.size(-1)) for one in hypotheses])
    return found


def _offers(
    wanted: list[int],
    tokens: list[int],
    totals: list[float],
    steps: list[float],
    n_likely: int,
    n_all: int,
) -> list[Offer]:
    """Those of one hypothesis, each token once, without what cannot be.

    Args:
        tokens: the `n_all` likeliest, of which `n_likely` count, then the wanted ones.
    """
    places = {tokens[i]: i for i in range(min(n_likely, n_all))}
    places |= {token: n_all + i for i, token in enumerate(wanted)}
    return [
        Offer(token, totals[i], steps[i], token in wanted)
        for token, i in places.items()
        if totals[i] > -torch.inf
    ]


def _rectangle(rows: Sequence[Sequence[float]], empty: float, device: torch.device) -> Tensor:
    """Rows of different lengths as one tensor (B, N), filled up with `empty`."""
    width = max(map(len, rows))
    return torch.tensor([[*row, *[empty] * (width - len(row))] for row in rows], device=device)


def _box(rows: Sequence[Sequence[Sequence[int]]], device: torch.device) -> Tensor:
    """Lists of tokens of every hypothesis of every sentence as one tensor (B, N, n), 0 beyond."""
    width = max(map(len, rows))
    depth = max(len(tokens) for row in rows for tokens in row)
    box = torch.zeros(len(rows), width, depth, dtype=torch.long)
    for i, row in enumerate(rows):
        for j, tokens in enumerate(row):
            box[i, j, : len(tokens)] = torch.tensor(tokens, dtype=torch.long)
    return box.to(device)

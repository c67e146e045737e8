"""Exhaustive search: the model's true best output, by branch and bound.

What is looked at are beginnings of outputs, the most promising first; one that cannot lead above
the best output found is dropped with all that begins so. A beginning is its tokens: the model reads
them anew, so that any number of beginnings can wait without a cache of their own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from ..nn.decoding import DecoderState, StepModel
from .beam_search import beam
from .candidates import check_numbers, log_normaliser
from .config import SearchConfig
from .force_decode import score_targets
from .length import best_attainable, length_limits, length_score
from .result import Hypothesis

DEFAULT = SearchConfig(method="exhaustive")
FIRST_BEAM = 8  # of the search that gives the first output to beat
TIE = 1e-6  # scores as near as this are equal
TAKEN = 256  # nodes of a sentence that are expanded between two sortings of those that wait
ROW = 16  # hypotheses in a row of a step, whose attention may cost the square of their number
STEPPED = 512  # hypotheses in one step
CROWD = 1 << 21  # nodes that may wait until those beyond the budget are dropped


@dataclass(frozen=True)
class ExhaustiveResult:
    """The best output of one sentence, and what is known of all others."""

    best: Hypothesis
    """The argmax if `proven`, else the best that was found; unfinished, and never proven, when no
    finished output was found."""
    proven: bool
    """No finished output within the length limit scores higher. False when the budget ran out."""
    n_nodes: int
    """Beginnings that were expanded: whose continuations were looked at."""
    bound: float
    """No finished output scores above it: the score of `best` if `proven`, -inf if there is no
    finished output at all."""


class Nodes(NamedTuple):
    """Beginnings of outputs. Shape: each (P,)."""

    sentence: Tensor
    parent: Tensor
    """The beginning without its last token, as a place in the tree."""
    token: Tensor
    n_tokens: Tensor
    """Without the begin token."""
    log_prob: Tensor
    bound: Tensor
    """Of the scores of all outputs that begin so."""

    def take(self, indices: Tensor) -> "Nodes":
        """Those at indices of any shape, or where a mask (P,) is True."""
        return Nodes(*(field[indices] for field in self))


@torch.inference_mode()
def exhaustive(
    model: StepModel,
    batch: Mapping[str, Tensor],
    *,
    bos: int,
    eos: int,
    config: SearchConfig = DEFAULT,
    limits: Tensor | None = None,
    normalise: bool = True,
) -> list[ExhaustiveResult]:
    """The best of all finished outputs of each sentence, proven if the budget of nodes suffices.

    Args:
        config: its lengths, alpha and `max_nodes`, which is the budget of each sentence.
        limits: largest `|y|` per sentence (B,), END counted; from the source when not given.
        normalise: False takes the logits as log probabilities.
    """
    limits = length_limits(batch, config) if limits is None else limits
    if not len(limits):
        return []
    first = SearchConfig(beam=FIRST_BEAM, alpha=config.alpha)
    beams = beam(model, batch, bos=bos, eos=eos, config=first, limits=limits, normalise=normalise)
    known = [best for (best,) in beams]
    frontier = Frontier(known, limits, bos, config)
    state = model.start(batch)
    while len(places := frontier.take_best()):
        for grid, is_there in frontier.grids(places):
            rows, tokens = frontier.tree.sentence[grid[:, 0]], frontier.read(grid)
            log_probs = _next_log_probs(model, state, rows, tokens, normalise)
            frontier.expand(grid, is_there, log_probs, eos)
    for i, better in frontier.better().items():
        single = {name: value[i : i + 1] for name, value in batch.items()}
        targets = torch.tensor([[*better, eos]], device=limits.device)
        steps = score_targets(model, single, targets, targets >= 0, bos=bos, normalise=normalise)[0]
        known[i] = _hypothesis(better, steps, config.alpha)
    return frontier.results(known)


def _hypothesis(tokens: list[int], log_probs: Tensor, alpha: float) -> Hypothesis:
    """A finished one, from the log probabilities of its tokens and of END."""
    log_prob = log_probs.sum()
    score = length_score(log_prob, len(log_probs), alpha)
    return Hypothesis(tokens, float(log_prob), float(score), log_probs.tolist(), True)


def _next_log_probs(
    model: StepModel, state: DecoderState, rows: Tensor, tokens: Tensor, normalise: bool
) -> Tensor:
    """What follows on the tokens (R, N, t) of the sentences `rows` (R,) -> (R, N, V)."""
    # From the start, which is cheap to fork; a sentence may have several rows.
    here = state.fork().keep(rows).reorder(torch.zeros_like(tokens[..., 0]))
    logits, _ = model.step(tokens, here)
    log_probs = logits.float()
    if normalise:
        log_probs = log_probs - log_normaliser(log_probs, log_probs.amax(dim=-1, keepdim=True))
    check_numbers(log_probs)
    return log_probs


class Frontier:
    """The nodes that wait, the tree of those that were expanded, and the best outputs so far."""

    def __init__(
        self, known: Sequence[Hypothesis], limits: Tensor, bos: int, config: SearchConfig
    ) -> None:
        scores = [best.score if best.finished else -torch.inf for best in known]
        self.limits, self.alpha = limits, config.alpha
        self.best = torch.tensor(scores, device=limits.device)
        self.best_place = torch.full_like(limits, -1)  # in the tree; -1 is the one known before
        self.left = torch.full_like(limits, config.max_nodes)
        self.max_nodes = config.max_nodes
        # The best bound of what the budget has no room for.
        self.left_out = torch.full_like(self.best, -torch.inf)
        none = torch.full_like(limits, -1)
        log_prob = torch.zeros_like(self.best)
        bound = best_attainable(log_prob[:, None], 0, limits, self.alpha).squeeze(1)
        sentence = torch.arange(len(limits), device=limits.device)
        roots = Nodes(sentence, none, torch.full_like(none, bos), none + 1, log_prob, bound)
        self.tree = roots.take(sentence[:0])
        self.waiting = [roots]
        self.crowd = CROWD

    def take_best(self) -> Tensor:
        """Moves the best waiting nodes of each sentence to the tree -> their places there (P,)."""
        nodes = self._trim()
        is_taken = _rank(nodes.sentence) < TAKEN
        taken = nodes.take(is_taken)
        self.waiting = [nodes.take(~is_taken)]
        self.left -= taken.sentence.bincount(minlength=len(self.left))
        start = len(self.tree.sentence)
        self.tree = _join([self.tree, taken])
        return torch.arange(start, len(self.tree.sentence), device=self.left.device)

    def _trim(self) -> Nodes:
        """The waiting nodes, sentence by sentence and best first, as many as the budget allows.

        Nodes that cannot lead above the best output are gone for good; of those beyond the budget,
        which would never get their turn, the best bound is remembered.
        """
        nodes = _join(self.waiting)
        nodes = nodes.take(nodes.bound > self.best[nodes.sentence] + TIE)
        order = nodes.bound.argsort(descending=True, stable=True)
        nodes = nodes.take(order[nodes.sentence[order].argsort(stable=True)])
        is_over = _rank(nodes.sentence) >= self.left[nodes.sentence]
        over = nodes.take(is_over)
        self.left_out.scatter_reduce_(0, over.sentence, over.bound, "amax")
        return nodes.take(~is_over)

    def grids(self, places: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Places of nodes of one length, each row of one sentence, and whether they are there.

        Rows of a grid are filled to more than half; the rest repeats their first node.

        Shape: places (P,), sentence by sentence -> (R, N) and bool (R, N), again and again.
        """
        for length in self.tree.n_tokens[places].unique():
            same = places[self.tree.n_tokens[places] == length]
            sentence = self.tree.sentence[same]
            piece = sentence * TAKEN + _rank(sentence) // ROW
            counts = piece.unique_consecutive(return_counts=True)[1]  # each at most ROW
            starts = counts.cumsum(0) - counts
            size = counts.float().log2().long()
            for one_size in size.unique():
                rows = (size == one_size).nonzero().squeeze(1)
                column = torch.arange(int(counts[rows].max()), device=places.device)
                for some in rows.split(STEPPED // len(column)):
                    is_there = column < counts[some, None]
                    index = torch.where(is_there, starts[some, None] + column, starts[some, None])
                    yield same[index], is_there

    def read(self, places: Tensor) -> Tensor:
        """The tokens of nodes of one length, begin token first: places (...) -> (..., t)."""
        tokens = []
        for _ in range(int(self.tree.n_tokens[places.flatten()[0]]) + 1):
            tokens.append(self.tree.token[places])
            places = self.tree.parent[places]
        return torch.stack(tokens[::-1], dim=-1)

    def expand(self, grid: Tensor, is_there: Tensor, log_probs: Tensor, eos: int) -> None:
        """Looks at all continuations: those that end may be the best, those that go on wait.

        Shape: grid and is_there (R, N), log_probs (R, N, V).
        """
        nodes = self.tree.take(grid)
        length = int(nodes.n_tokens[0, 0]) + 1  # of the continuations
        totals = nodes.log_prob.masked_fill(~is_there, -torch.inf)[..., None] + log_probs
        self._end(nodes.sentence, grid, length_score(totals[..., eos], length, self.alpha))

        rows = nodes.sentence[:, 0]
        totals[..., eos] = -torch.inf
        totals[self.limits[rows] <= length] = -torch.inf  # END would come too late
        totals = totals.flatten(1)  # (R, N*V)
        bounds = best_attainable(totals, length, self.limits[rows], self.alpha)
        row, column = (bounds > self.best[rows, None] + TIE).nonzero(as_tuple=True)
        place = column // log_probs.size(2)
        self._wait(
            Nodes(
                sentence=rows[row],
                parent=grid[row, place],
                token=column % log_probs.size(2),
                n_tokens=torch.full_like(row, length),
                log_prob=totals[row, column],
                bound=bounds[row, column],
            )
        )

    def _end(self, sentence: Tensor, places: Tensor, scores: Tensor) -> None:
        """Offers finished outputs: END after the nodes at `places`. Shape: each (R, N)."""
        top = self.best.scatter_reduce(0, sentence.flatten(), scores.flatten(), "amax")
        is_better = top > self.best + TIE
        wins = is_better[sentence] & (scores == top[sentence])
        self.best_place[sentence[wins]] = places[wins]
        self.best = torch.where(is_better, top, self.best)

    def _wait(self, nodes: Nodes) -> None:
        self.waiting.append(nodes)
        if sum(len(some.sentence) for some in self.waiting) > self.crowd:
            self.waiting = [self._trim()]
            self.crowd = max(CROWD, 2 * len(self.waiting[0].sentence))

    def better(self) -> dict[int, list[int]]:
        """The tokens of outputs better than those known before, by sentence."""
        found = (self.best_place >= 0).nonzero().squeeze(1).tolist()
        return {i: self.read(self.best_place[i])[1:].tolist() for i in found}

    def results(self, best: Sequence[Hypothesis]) -> list[ExhaustiveResult]:
        """What was found out, given the best hypothesis of each sentence."""
        is_proven = (self.left_out <= self.best + TIE) & (self.best > -torch.inf)
        facts = zip(
            best,
            is_proven.tolist(),
            (self.max_nodes - self.left).tolist(),
            torch.maximum(self.left_out, self.best).tolist(),
            strict=True,
        )
        return [
            ExhaustiveResult(one, proven, n_nodes, one.score if proven else bound)
            for one, proven, n_nodes, bound in facts
        ]


def _rank(sentence: Tensor) -> Tensor:
    """The place of each node among those of its sentence, which stand together. Shape: (P,)."""
    index = torch.arange(len(sentence), device=sentence.device)
    return index - torch.searchsorted(sentence, sentence)


def _join(nodes: Sequence[Nodes]) -> Nodes:
    return Nodes(*(torch.cat(fields) for fields in zip(*nodes, strict=True)))

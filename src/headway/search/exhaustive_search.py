"""Exhaustive search: the model's true best output, by branch and bound.

The search expands prefixes of outputs, the most promising first. A prefix that cannot lead above
the best output so far is dropped with all its continuations. A prefix is stored as tokens, which
the model decodes anew, so that any number of prefixes can wait without caches.
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
FIRST_BEAM = 8  # beam of the search for the first output to beat
TIE = 1e-6  # scores that differ by no more are equal
TAKEN = 256  # nodes of a sentence that are expanded before the waiting ones are sorted again
ROW = 16  # hypotheses in a row of a step; the cost of attention may be quadratic in them
STEPPED = 512  # hypotheses in a step
MAX_WAITING = 1 << 21  # waiting nodes beyond which those over the budget are dropped


@dataclass(frozen=True)
class ExhaustiveResult:
    """The best output of a sentence, and a bound on all others."""

    best: Hypothesis
    """The argmax if `proven`, else the best output of the search. If the search reached no finished
    output, it is unfinished and not proven."""
    proven: bool
    """No finished output within the length limit scores higher. False if the budget ran out."""
    n_nodes: int
    """Expanded prefixes, whose continuations were scored."""
    bound: float
    """No finished output scores higher: the score of `best` if `proven`, -inf if there is no
    finished output."""


class Nodes(NamedTuple):
    """Prefixes of outputs. Shape: each (P,)."""

    sentence: Tensor
    parent: Tensor
    """Index in the tree of the prefix without its last token."""
    token: Tensor
    n_tokens: Tensor
    """Without BOS."""
    log_prob: Tensor
    bound: Tensor
    """Upper bound on the scores of all outputs with this prefix."""

    def take(self, indices: Tensor) -> "Nodes":
        """The nodes at indices of any shape, or at the True entries of a mask (P,)."""
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
        config: only its lengths, alpha and `max_nodes`, the budget of each sentence, are used.
        limits: largest `|y|` per sentence (B,), END counted; by default from the source.
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
    while len(indices := frontier.take_best()):
        for grid, is_node in frontier.grids(indices):
            rows, tokens = frontier.tree.sentence[grid[:, 0]], frontier.read(grid)
            log_probs = _next_log_probs(model, state, rows, tokens, normalise)
            frontier.expand(grid, is_node, log_probs, eos)
    for i, better in frontier.better().items():
        single = {name: value[i : i + 1] for name, value in batch.items()}
        targets = torch.tensor([[*better, eos]], device=limits.device)
        steps = score_targets(model, single, targets, targets >= 0, bos=bos, normalise=normalise)[0]
        known[i] = _hypothesis(better, steps, config.alpha)
    return frontier.results(known)


def _hypothesis(tokens: list[int], log_probs: Tensor, alpha: float) -> Hypothesis:
    """The finished hypothesis with these log probabilities of its tokens and of END."""
    log_prob = log_probs.sum()
    score = length_score(log_prob, len(log_probs), alpha)
    return Hypothesis(tokens, float(log_prob), float(score), log_probs.tolist(), True)


def _next_log_probs(
    model: StepModel, state: DecoderState, rows: Tensor, tokens: Tensor, normalise: bool
) -> Tensor:
    """Log probabilities after the tokens (R, N, t) of the sentences `rows` (R,) -> (R, N, V)."""
    # From the first state, which is cheap to fork; a sentence may have several rows.
    state = state.fork().keep(rows).reorder(torch.zeros_like(tokens[..., 0]))
    logits, _ = model.step(tokens, state)
    log_probs = logits.float()
    if normalise:
        log_probs = log_probs - log_normaliser(log_probs, log_probs.amax(dim=-1, keepdim=True))
    check_numbers(log_probs)
    return log_probs


class Frontier:
    """The waiting nodes, the tree of expanded nodes, and the best outputs so far."""

    def __init__(
        self, known: Sequence[Hypothesis], limits: Tensor, bos: int, config: SearchConfig
    ) -> None:
        scores = [best.score if best.finished else -torch.inf for best in known]
        self.limits, self.alpha = limits, config.alpha
        self.best = torch.tensor(scores, device=limits.device)
        self.best_index = torch.full_like(limits, -1)  # in the tree; -1 is the output of the beam
        self.budget = torch.full_like(limits, config.max_nodes)
        self.max_nodes = config.max_nodes
        # The best bound of the nodes beyond the budget.
        self.left_out = torch.full_like(self.best, -torch.inf)
        none = torch.full_like(limits, -1)
        log_prob = torch.zeros_like(self.best)
        bound = best_attainable(log_prob[:, None], 0, limits, self.alpha).squeeze(1)
        sentence = torch.arange(len(limits), device=limits.device)
        roots = Nodes(sentence, none, torch.full_like(none, bos), none + 1, log_prob, bound)
        self.tree = roots.take(sentence[:0])
        self.waiting = [roots]
        self.max_waiting = MAX_WAITING

    def take_best(self) -> Tensor:
        """Moves the best waiting nodes of each sentence to the tree -> their indices (P,)."""
        nodes = self._trim()
        is_taken = _rank(nodes.sentence) < TAKEN
        taken = nodes.take(is_taken)
        self.waiting = [nodes.take(~is_taken)]
        self.budget -= taken.sentence.bincount(minlength=len(self.budget))
        start = len(self.tree.sentence)
        self.tree = _join([self.tree, taken])
        return torch.arange(start, len(self.tree.sentence), device=self.budget.device)

    def _trim(self) -> Nodes:
        """The waiting nodes, sentence by sentence and best first, as many as the budget allows.

        Nodes that cannot lead above the best output are dropped. Nodes beyond the budget would
        never be expanded: they are dropped too, and their best bound is kept.
        """
        nodes = _join(self.waiting)
        nodes = nodes.take(nodes.bound > self.best[nodes.sentence] + TIE)
        order = nodes.bound.argsort(descending=True, stable=True)
        nodes = nodes.take(order[nodes.sentence[order].argsort(stable=True)])
        is_over = _rank(nodes.sentence) >= self.budget[nodes.sentence]
        over = nodes.take(is_over)
        self.left_out.scatter_reduce_(0, over.sentence, over.bound, "amax")
        return nodes.take(~is_over)

    def grids(self, indices: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Grids of indices of nodes of equal length, and which entries of them are nodes.

        A row holds nodes of one sentence. It is filled to more than half; the other entries repeat
        its first node.

        Shape: indices (P,), sentence by sentence -> for each grid, (R, N) and bool (R, N).
        """
        for length in self.tree.n_tokens[indices].unique():
            same = indices[self.tree.n_tokens[indices] == length]
            sentence = self.tree.sentence[same]
            piece = sentence * TAKEN + _rank(sentence) // ROW
            counts = piece.unique_consecutive(return_counts=True)[1]  # each at most ROW
            starts = counts.cumsum(0) - counts
            size = counts.float().log2().long()
            for row_size in size.unique():
                rows = (size == row_size).nonzero().squeeze(1)
                column = torch.arange(int(counts[rows].max()), device=indices.device)
                for chunk in rows.split(STEPPED // len(column)):
                    is_node = column < counts[chunk, None]
                    index = torch.where(is_node, starts[chunk, None] + column, starts[chunk, None])
                    yield same[index], is_node

    def read(self, indices: Tensor) -> Tensor:
        """The tokens of nodes of equal length, BOS first: indices (...) -> (..., t)."""
        tokens = []
        for _ in range(int(self.tree.n_tokens[indices.flatten()[0]]) + 1):
            tokens.append(self.tree.token[indices])
            indices = self.tree.parent[indices]
        return torch.stack(tokens[::-1], dim=-1)

    def expand(self, grid: Tensor, is_node: Tensor, log_probs: Tensor, eos: int) -> None:
        """Scores all continuations: finished ones may be the best, the others wait.

        Shape: grid and is_node (R, N), log_probs (R, N, V).
        """
        nodes = self.tree.take(grid)
        length = int(nodes.n_tokens[0, 0]) + 1  # of the continuations
        totals = nodes.log_prob.masked_fill(~is_node, -torch.inf)[..., None] + log_probs
        self._end(nodes.sentence, grid, length_score(totals[..., eos], length, self.alpha))

        rows = nodes.sentence[:, 0]
        totals[..., eos] = -torch.inf
        totals[self.limits[rows] <= length] = -torch.inf  # END would come too late
        totals = totals.flatten(1)  # (R, N*V)
        bounds = best_attainable(totals, length, self.limits[rows], self.alpha)
        row, column = (bounds > self.best[rows, None] + TIE).nonzero(as_tuple=True)
        slot = column // log_probs.size(2)
        self._wait(
            Nodes(
                sentence=rows[row],
                parent=grid[row, slot],
                token=column % log_probs.size(2),
                n_tokens=torch.full_like(row, length),
                log_prob=totals[row, column],
                bound=bounds[row, column],
            )
        )

    def _end(self, sentence: Tensor, indices: Tensor, scores: Tensor) -> None:
        """Updates the best outputs with END after the nodes at `indices`. Shape: each (R, N)."""
        top = self.best.scatter_reduce(0, sentence.flatten(), scores.flatten(), "amax")
        is_better = top > self.best + TIE
        wins = is_better[sentence] & (scores == top[sentence])
        self.best_index[sentence[wins]] = indices[wins]
        self.best = torch.where(is_better, top, self.best)

    def _wait(self, nodes: Nodes) -> None:
        self.waiting.append(nodes)
        if sum(len(waiting.sentence) for waiting in self.waiting) > self.max_waiting:
            self.waiting = [self._trim()]
            self.max_waiting = max(MAX_WAITING, 2 * len(self.waiting[0].sentence))

    def better(self) -> dict[int, list[int]]:
        """The tokens of outputs better than those of the first beam, by sentence."""
        improved = (self.best_index >= 0).nonzero().squeeze(1).tolist()
        return {i: self.read(self.best_index[i])[1:].tolist() for i in improved}

    def results(self, best: Sequence[Hypothesis]) -> list[ExhaustiveResult]:
        """The result of each sentence, with its best hypothesis."""
        is_proven = (self.left_out <= self.best + TIE) & (self.best > -torch.inf)
        facts = zip(
            best,
            is_proven.tolist(),
            (self.max_nodes - self.budget).tolist(),
            torch.maximum(self.left_out, self.best).tolist(),
            strict=True,
        )
        return [
            ExhaustiveResult(hypothesis, proven, n_nodes, hypothesis.score if proven else bound)
            for hypothesis, proven, n_nodes, bound in facts
        ]


def _rank(sentence: Tensor) -> Tensor:
    """The rank of each node in its sentence, whose nodes are adjacent. Shape: (P,)."""
    index = torch.arange(len(sentence), device=sentence.device)
    return index - torch.searchsorted(sentence, sentence)


def _join(nodes: Sequence[Nodes]) -> Nodes:
    return Nodes(*(torch.cat(fields) for fields in zip(*nodes, strict=True)))

"""The tokens and back-pointers of a search, and the hypotheses backtracked from them.

Each step is stored for the sentences still in the batch; nothing is copied until the search ends.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from .finished import FinishedHypotheses, HypothesisEnds
from .result import Hypothesis


class Step(NamedTuple):
    """A step of a search: `rows` (B',) are its sentences, ascending; other fields are (B', N)."""

    rows: Tensor
    parent: Tensor
    token: Tensor
    log_prob: Tensor


class Backtrace:
    """The parent and the token of each beam slot at each step."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def append(self, rows: Tensor, parent: Tensor, token: Tensor, log_prob: Tensor) -> None:
        self.steps.append(Step(rows, parent, token, log_prob))

    def backtrack(
        self, sentence: Tensor, slot: Tensor, n_tokens: Tensor
    ) -> tuple[list[list[int]], list[list[float]]]:
        """Tokens and log probabilities of the hypotheses in `slot` after `n_tokens` steps.

        Shape: each (M,) -> M lists.
        """
        shape = (len(sentence), len(self.steps))
        tokens = torch.zeros(shape, dtype=torch.long, device=sentence.device)
        log_probs = torch.zeros(shape, device=sentence.device)
        slot = slot.clone()
        for index in range(len(self.steps) - 1, -1, -1):
            step = self.steps[index]
            passing = (n_tokens > index).nonzero().squeeze(1)
            row = torch.searchsorted(step.rows, sentence[passing])
            current = slot[passing]
            tokens[passing, index] = step.token[row, current]
            log_probs[passing, index] = step.log_prob[row, current]
            slot[passing] = step.parent[row, current]
        lengths = n_tokens.tolist()
        return (
            [row[:n] for row, n in zip(tokens.tolist(), lengths, strict=True)],
            [row[:n] for row, n in zip(log_probs.tolist(), lengths, strict=True)],
        )


def read_hypotheses(
    history: Backtrace, finished: FinishedHypotheses, unfinished: FinishedHypotheses, n_best: int
) -> list[list[Hypothesis]]:
    """Up to n_best hypotheses of each sentence: finished ones, best first, then unfinished."""
    ends = HypothesisEnds(
        *(torch.cat(both, dim=1) for both in zip(finished.ends, unfinished.ends, strict=True))
    )
    n_finished = finished.ends.score.size(1)
    sentence, column = (ends.score > -torch.inf).nonzero(as_tuple=True)
    chosen = HypothesisEnds(*(field[sentence, column] for field in ends))
    tokens, log_probs = history.backtrack(sentence, chosen.slot, chosen.n_tokens)
    end_log_probs = chosen.end_log_prob.tolist()
    totals, scores = chosen.log_prob.tolist(), chosen.score.tolist()

    hypotheses: list[list[Hypothesis]] = [[] for _ in range(ends.score.size(0))]
    for i, (row, rank) in enumerate(zip(sentence.tolist(), column.tolist(), strict=True)):
        if len(hypotheses[row]) == n_best:
            continue
        is_finished = rank < n_finished
        steps = [*log_probs[i], end_log_probs[i]] if is_finished else log_probs[i]
        hypotheses[row].append(Hypothesis(tokens[i], totals[i], scores[i], steps, is_finished))
    return hypotheses

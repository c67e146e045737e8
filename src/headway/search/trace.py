"""Traces of a beam search: the candidates of every step, as plain data.

A `Tracer` records the candidates during a search and returns a `SearchTrace` for each sentence.
Fates follow from the order: candidates come best first.
"""

from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor

from .candidates import Candidates
from .config import SearchConfig
from .length import length_score

Fate = Literal["kept", "ended", "pruned"]


@dataclass(frozen=True)
class TracedCandidate:
    """A continuation that the search considered.

    Attributes:
        parent: index of the continued hypothesis among those kept in the previous step; 0 at first.
        log_prob: of the whole hypothesis, before length normalisation.
        token_log_prob: of its last token.
        score: after length normalisation; comparable with finished hypotheses.
        fate: `kept` (in the beam, in this order), `ended` (stored as finished) or `pruned`.
    """

    parent: int
    token: int
    log_prob: float
    token_log_prob: float
    score: float
    fate: Fate


@dataclass(frozen=True)
class SearchTrace:
    """The steps of one sentence's search, each with its candidates, best first."""

    steps: list[list[TracedCandidate]]
    beam: int
    alpha: float

    def path(self, step: int, index: int) -> list[int]:
        """The tokens of a candidate, from the first step to `step`."""
        tokens = []
        for at in range(step, -1, -1):
            candidate = self.steps[at][index]
            tokens.append(candidate.token)
            if at:
                kept = [i for i, c in enumerate(self.steps[at - 1]) if c.fate == "kept"]
                index = kept[candidate.parent]
        return tokens[::-1]

    def finished(self) -> list[tuple[int, int]]:
        """Step and index of the candidates that ended, best score first."""
        ends = [
            (step, index)
            for step, candidates in enumerate(self.steps)
            for index, candidate in enumerate(candidates)
            if candidate.fate == "ended"
        ]
        return sorted(ends, key=lambda end: -self.steps[end[0]][end[1]].score)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; numbers are rounded to four decimals, so that pages stay small."""
        return {
            "beam": self.beam,
            "alpha": self.alpha,
            "steps": [
                {
                    "parent": [c.parent for c in step],
                    "token": [c.token for c in step],
                    "log_prob": [round(c.log_prob, 4) for c in step],
                    "token_log_prob": [round(c.token_log_prob, 4) for c in step],
                    "score": [round(c.score, 4) for c in step],
                    "fate": [c.fate for c in step],
                }
                for step in self.steps
            ],
        }


class Tracer:
    """Collects the candidates of a beam search over one batch."""

    def __init__(self, n_sentences: int, eos: int, config: SearchConfig) -> None:
        self._eos = eos
        self._config = config
        self._steps: list[list[list[TracedCandidate]]] = [[] for _ in range(n_sentences)]

    def record(self, rows: Tensor, best: Candidates, n_tokens: int) -> None:
        """Records a step of the sentences `rows` (B,), after `n_tokens` tokens."""
        score = length_score(best.log_prob, n_tokens + 1, self._config.alpha)
        fields = (best.parent, best.token, best.log_prob, best.token_log_prob, score)
        columns = [field.tolist() for field in fields]
        for row, sentence in enumerate(rows.tolist()):
            self.add(sentence, self._step(zip(*(column[row] for column in columns), strict=True)))

    def add(self, sentence: int, step: list[TracedCandidate]) -> None:
        """Adds a step of a sentence; ignores an empty one, of a sentence that is done."""
        if step:
            self._steps[sentence].append(step)

    def traces(self) -> list[SearchTrace]:
        """The trace of each sentence."""
        return [SearchTrace(steps, self._config.beam, self._config.alpha) for steps in self._steps]

    def _step(self, candidates: Any) -> list[TracedCandidate]:
        step: list[TracedCandidate] = []
        n_kept = 0
        for parent, token, log_prob, token_log_prob, score in candidates:
            if log_prob == float("-inf"):
                continue
            fate: Fate = "pruned"
            if token == self._eos and len(step) < self._config.beam:
                fate = "ended"
            elif token != self._eos and n_kept < self._config.beam:
                fate, n_kept = "kept", n_kept + 1
            step.append(TracedCandidate(parent, token, log_prob, token_log_prob, score, fate))
        return step

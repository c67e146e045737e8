"""What a trained run gives back: typed, plain data."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from ..metrics.flags import Flags
from ..metrics.score import Score
from ..search.trace import SearchTrace
from ..text import Tokenizer
from .attention import Attention


@dataclass(frozen=True)
class Output:
    """One output of a search.

    Attributes:
        log_prob: of the whole output, its end included.
        score: what outputs are ranked by, `log_prob / length ** alpha`.
        tokens: as a person reads them.
        token_log_probs: of each token, and of the end if it came.
        finished: False if the length limit cut it off.
        alignment: for each token the place of the source token it looks at most, counted from 0;
            None unless it was asked for.
        unmet: required terms that are missing; alternatives are joined by ` | `.
        proven: whether no other output can score above it; None where the method proves nothing.
        attention: the weights of a forced pass over it; None unless they were asked for.
    """

    text: str
    log_prob: float
    score: float
    tokens: list[str]
    token_log_probs: list[float]
    finished: bool
    alignment: list[int] | None = None
    unmet: list[str] = field(default_factory=list)
    proven: bool | None = None
    attention: Attention | None = None

    @property
    def confidence(self) -> float:
        """The model's probability of the whole output."""
        return math.exp(self.log_prob)


@dataclass(frozen=True)
class Translation:
    """An input and its outputs, best first.

    Attributes:
        source_tokens: what alignments count, as a person reads them; None without alignments.
        trace: every step of the search; None unless it was asked for.
    """

    source: str
    outputs: list[Output]
    source_tokens: list[str] | None = None
    trace: SearchTrace | None = None

    @property
    def text(self) -> str:
        """The best output."""
        return self.outputs[0].text


@dataclass(frozen=True)
class Scored:
    """What the model thinks of a given pair: forced log probabilities, the end included."""

    log_prob: float
    tokens: list[str]
    token_log_probs: list[float]


@dataclass(frozen=True)
class Evaluation:
    """Scores by metric, counts of strange outputs, and the outputs themselves.

    Attributes:
        unproven: how many outputs an exhaustive search could not prove to be the best.
    """

    scores: dict[str, Score]
    flags: Flags
    outputs: list[str]
    unproven: int = 0


@dataclass(frozen=True)
class OutputEvaluation:
    """Scores by metric, and the outputs they were taken on, as text."""

    scores: dict[str, Score]
    outputs: list[str]


def trace_in_words(trace: SearchTrace, tokenizer: Tokenizer) -> dict[str, Any]:
    """A trace as plain data, each step with the `text` of its tokens."""
    found = trace.to_dict()
    for step in found["steps"]:
        step["text"] = tokenizer.tokens(step["token"])
    return found


def blank() -> Output:
    """The output of a blank line."""
    return Output("", 0.0, 0.0, [], [], True)


def join(pieces: Sequence[list[Output]], widths: Sequence[int]) -> list[Output]:
    """The outputs of a text from those of its pieces: n-th bests go together.

    Args:
        widths: source tokens of each piece, by which alignments move.
    """
    if len(pieces) == 1:
        return pieces[0]
    starts = [0, *accumulate(widths)]
    return [_joined(row, starts) for row in zip(*pieces, strict=False)]


def _joined(row: Sequence[Output], starts: Sequence[int]) -> Output:
    alignment = None
    if all(output.alignment is not None for output in row):
        alignment = [
            start + place
            for start, output in zip(starts, row, strict=False)
            for place in output.alignment or ()
        ]
    return Output(
        " ".join(output.text for output in row),
        sum(output.log_prob for output in row),
        sum(output.score for output in row) / len(row),
        [token for output in row for token in output.tokens],
        [value for output in row for value in output.token_log_probs],
        all(output.finished for output in row),
        alignment,
        [term for output in row for term in output.unmet],
        None if None in (proofs := [output.proven for output in row]) else all(proofs),
    )

"""The settings of a search. The docstrings below each setting are its manual."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge


@dataclass(frozen=True)
class SearchConfig:
    """How outputs are searched for."""

    beam: Annotated[int, Ge(1)] = 5
    """Hypotheses kept alive at each step. 1 is greedy search."""

    alpha: float = 1.0
    """Length normalisation: hypotheses are ranked by `log p / |y|**alpha`, where `|y|` counts the
    end token. 0 ranks by probability alone, which favours short outputs."""

    n_best: Annotated[int, Ge(1)] = 1
    """Outputs returned for each input, best first; at most `beam`."""

    max_length: Annotated[int, Ge(1)] = 256
    """The longest output in tokens, end token counted, whatever the input."""

    max_ratio: Annotated[float, Ge(0)] = 2.0
    """With `max_extra`, a limit that follows the input: an output has at most
    `max_ratio * source tokens + max_extra` tokens, end token counted."""

    max_extra: Annotated[int, Ge(0)] = 10
    """Tokens allowed on top of `max_ratio` times the source length."""

    stop: Literal["finished", "safe"] = "finished"
    """When an input is done before its length limit: `finished`, when `beam` hypotheses have ended;
    `safe`, when no hypothesis still alive could score above the `n_best` found, so that searching
    on could not change the answer."""

    def __post_init__(self) -> None:
        if not 1 <= self.n_best <= self.beam:
            raise ValueError(
                f"n_best={self.n_best} does not fit beam={self.beam}; "
                f"n_best lies between 1 and beam: lower n_best or raise beam"
            )
        if not math.isfinite(self.alpha):
            raise ValueError(f"alpha={self.alpha} is not a finite number; 0 to 1 is usual")

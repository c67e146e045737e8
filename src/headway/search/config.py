"""The settings of a search. The docstrings below each setting are its manual."""

import json
import math
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

# The settings that only some methods obey; changed under another they would do nothing.
METHODS_OF = {
    "temperature": ("sample",),
    "top_k": ("sample",),
    "top_p": ("sample",),
    "seed": ("sample",),
    "max_nodes": ("exhaustive",),
    "min_length": ("beam", "sample"),
    "min_ratio": ("beam", "sample"),
    "no_repeat": ("beam", "sample"),
    "stop": ("beam",),
}


@dataclass(frozen=True)
class SearchConfig:
    """How outputs are searched for."""

    method: Literal["beam", "sample", "exhaustive"] = "beam"
    """`beam` keeps the `beam` best hypotheses at each step; `sample` draws outputs at random, as
    likely as the model finds them; `exhaustive` looks for the very best output until that is
    proven, which takes short outputs or a small vocabulary."""

    beam: Annotated[int, Ge(1)] = 5
    """Hypotheses kept alive at each step. 1 is greedy search."""

    alpha: float = 1.0
    """Length normalisation: hypotheses are ranked by `log p / |y|**alpha`, where `|y|` counts the
    end token. 0 ranks by probability alone, which favours short outputs."""

    n_best: Annotated[int, Ge(1)] = 1
    """Outputs returned for each input, best first: at most `beam`; with `method = "sample"` the
    number of outputs drawn, which may be equal; with `method = "exhaustive"` only 1."""

    max_length: Annotated[int, Ge(1)] = 256
    """The longest output in tokens, end token counted, whatever the input."""

    max_ratio: Annotated[float, Ge(0)] = 2.0
    """With `max_extra`, a limit that follows the input: an output has at most
    `max_ratio * source tokens + max_extra` tokens, end token counted."""

    max_extra: Annotated[int, Ge(0)] = 10
    """Tokens allowed on top of `max_ratio` times the source length."""

    min_length: Annotated[int, Ge(0)] = 0
    """The shortest output in tokens, end token counted; where the longest allowed is shorter, that
    length. 2 forbids the empty output."""

    min_ratio: Annotated[float, Ge(0)] = 0.0
    """A minimum that follows the input: an output has at least `min_ratio * source tokens` tokens,
    end token counted. The larger of this and `min_length` holds."""

    no_repeat: Annotated[int, Ge(0)] = 0
    """No sequence of this many tokens comes twice in an output: 3 stops loops and seldom harms, 1
    forbids every token a second time. 0 is off. A beginning that was asked for may repeat."""

    stop: Literal["finished", "safe"] = "finished"
    """For `method = "beam"`: when an input is done before its length limit. `finished`, when `beam`
    hypotheses have ended; `safe`, when no hypothesis still alive could score above the `n_best`
    found, so that searching on could not change the answer."""

    temperature: Annotated[float, Gt(0)] = 1.0
    """For `method = "sample"`: logits are divided by it before a token is drawn. Below 1 likely
    tokens become likelier still, above 1 the choice becomes more even."""

    top_k: Annotated[int, Ge(0)] = 0
    """For `method = "sample"`: draw among the `top_k` likeliest tokens only. 0 is off."""

    top_p: Annotated[float, Gt(0), Le(1)] = 1.0
    """For `method = "sample"`: draw among the fewest tokens whose probabilities reach `top_p`
    together, the likeliest first. Counted after `temperature` and `top_k`. 1 is off."""

    seed: Annotated[int, Ge(0)] = 1
    """For `method = "sample"`: the same seed draws the same outputs, however inputs are batched."""

    max_nodes: Annotated[int, Ge(1)] = 100_000
    """For `method = "exhaustive"`: hypotheses to look at for one input. When they are used up, the
    best output so far is returned as not proven."""

    def __post_init__(self) -> None:
        for name, usual in [("alpha", "0 to 1"), ("max_ratio", "1 to 3"), ("min_ratio", "0 to 1")]:
            if not math.isfinite(value := getattr(self, name)):
                raise ValueError(f"{name}={value} is not a finite number; {usual} is usual")
        if not 0 < self.temperature < math.inf:
            raise ValueError(
                f"temperature={self.temperature} is not a finite number above 0; for the likeliest "
                f'token at each step take method = "beam" with beam = 1'
            )
        self._check_n_best()
        self._check_method()

    def _check_n_best(self) -> None:
        if self.method == "beam" and not 1 <= self.n_best <= self.beam:
            raise ValueError(
                f"n_best={self.n_best} does not fit beam={self.beam}; "
                f"n_best lies between 1 and beam: lower n_best or raise beam"
            )
        if self.method == "exhaustive" and self.n_best != 1:
            raise ValueError(
                f'n_best={self.n_best} does not fit method="exhaustive", which finds one output; '
                f'set n_best = 1 or method = "beam"'
            )

    def _check_method(self) -> None:
        """Refuses a setting that was changed for nothing."""
        for name, methods in METHODS_OF.items():
            value, usual = getattr(self, name), getattr(SearchConfig, name)
            if self.method not in methods and value != usual:
                raise ValueError(
                    f'{name}={value} has no meaning with method="{self.method}"; '
                    f'set method = "{methods[0]}" or {name} = {json.dumps(usual)}'
                )

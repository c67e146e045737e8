"""One output of a search as text, and the search trace with the text of its tokens."""

import math
from dataclasses import dataclass, field
from typing import Annotated, Any

from ..search.trace import SearchTrace
from ..text import Tokenizer
from .attention import Attention


class _NullInJson:
    """The JSON schema of a number or null, for pydantic, which is not imported here."""

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {"anyOf": [handler(schema), {"type": "null"}]}


LogProb = Annotated[float, _NullInJson()]
"""A natural logarithm; that of probability 0, minus infinity, is null in JSON."""


@dataclass(frozen=True)
class TextHypothesis:
    """One output of a search.

    Attributes:
        log_prob: natural logarithm of the probability of the output, with its end token; null in
            JSON where the probability is 0.
        score: the value outputs are ranked by, `log_prob / length ** alpha`.
        tokens: readable tokens.
        token_log_probs: log probability of each token, and of the end token if the output reached
            it; empty where the search engine reports none.
        finished: False if the length limit cut the output off.
        alignment: for each token the index of the source token it attends to most, from 0; None
            unless requested.
        unmet: required terms that are missing; alternatives are joined by ` | `.
        proven: whether no other output scores higher; None where the search method proves nothing.
        attention: weights of a forced pass over the output; None unless requested.
    """

    text: str
    log_prob: LogProb
    score: LogProb
    tokens: list[str]
    token_log_probs: list[LogProb]
    finished: bool
    alignment: list[int] | None = None
    unmet: list[str] = field(default_factory=list)
    proven: bool | None = None
    attention: Attention | None = None

    @property
    def confidence(self) -> float:
        """The model's probability of the whole output."""
        return math.exp(self.log_prob)


def trace_to_dict(trace: SearchTrace, tokenizer: Tokenizer) -> dict[str, Any]:
    """A trace as plain data, each step with the `text` of its tokens."""
    plain = trace.to_dict()
    for step in plain["steps"]:
        step["text"] = tokenizer.tokens(step["token"])
    return plain

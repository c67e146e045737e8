"""Settings that tasks have of their own; those of pre-training are in `pretrain/config.py`."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le, Lt


@dataclass(frozen=True)
class AnswerConfig:
    """How answers are looked for in documents."""

    overlap: Annotated[float, Ge(0), Lt(1)] = 0.5
    """A document that does not fit into `data.max_length` together with the question is read in
    several windows; this part of each is repeated by the next."""
    elsewhere: Annotated[float, Ge(0), Le(1)] = 0.1
    """How often training looks at a window of such a document without the answer, from which it
    learns to find none there."""
    longest: Annotated[int, Ge(1)] = 30
    """The longest answer that is given, in tokens."""

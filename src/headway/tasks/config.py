"""Settings of single tasks; the settings of pre-training are in `pretrain/config.py`."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le, Lt


@dataclass(frozen=True)
class AnswerConfig:
    """How answers are searched in documents."""

    overlap: Annotated[float, Ge(0), Lt(1)] = 0.5
    """A document that does not fit into `data.max_length` together with the question is split into
    windows. Each window shares this fraction of its tokens with the next."""
    elsewhere: Annotated[float, Ge(0), Le(1)] = 0.1
    """How often training uses a window of such a document without the answer, so that the model
    learns to find none there."""
    longest: Annotated[int, Ge(1)] = 30
    """The longest possible answer, in tokens."""

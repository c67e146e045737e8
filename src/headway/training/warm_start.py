"""What a run takes over from the one that it starts from (`init`), and what of it is new.

A backbone is always kept; a head only where it would answer as it did.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from torch import Tensor

from ..errors import ConfigError
from ..models.family import BACKBONE, Head
from ..models.heads import MASKED, MASKED_HEADS
from ..models.state_dict import weights_of

BODY = f"{BACKBONE}."
POOLER = f"{BODY}pooler."
HIDDEN_WORDS = f"{MASKED}."


def kept_weights(tensors: Mapping[str, Tensor], head: Head) -> dict[str, Tensor]:
    """The weights of another run that one with another head begins with.

    Hidden words are asked for in the same way, whatever else is: their head stays.
    """
    kept = (BODY, HIDDEN_WORDS) if head in MASKED_HEADS else (BODY,)
    return {name: value for name, value in tensors.items() if name.startswith(kept)}


def new_parts(kept: Iterable[str], head: Head, *, pooler: bool) -> str | None:
    """What such a run begins with that is not the other one's, in words.

    Args:
        pooler: whether the model has one.
    """
    kept = list(kept)
    has_head = any(name.startswith(HIDDEN_WORDS) for name in kept)
    new = [] if has_head else ["the head"]
    if has_head and head == "masked_next":
        new = ["the head for next sentences"]
    if pooler and _lacks_pooler(kept):
        new.append("the pooler")
    if not new:
        return None
    is_one = len(new) == 1
    before = "what stands before " + ("it" if is_one else "them")
    return f"{' and '.join(new)} {'is' if is_one else 'are'} new; {before} is that of init"


def check_pooler(kept: Iterable[str], mode: str) -> None:
    """Refuses a pooler that is asked for, that `init` does not have, and that would not learn."""
    if mode != "full" and _lacks_pooler(kept):
        raise ConfigError(
            f'model.pooler = true with tune.mode = "{mode}": init has no pooler, and a new one '
            'would not be trained; set tune.mode = "full", or model.pooler = false'
        )


def with_new_parts(model: Any, kept: Mapping[str, Tensor], *, pooler: bool) -> dict[str, Tensor]:
    """Weights for the whole model: those that were kept, and its own in the place of new parts.

    What else is missing stays so. Weights of a run with the same head are whole, and come back as
    they are.
    """
    if not all(name.startswith((BODY, HIDDEN_WORDS)) for name in kept):
        return dict(kept)
    is_new = pooler and _lacks_pooler(kept)
    drawn = {
        name: value
        for name, value in weights_of(model).items()
        if not name.startswith(BODY) or (is_new and name.startswith(POOLER))
    }
    return drawn | dict(kept)


def has_pooler(model_config: Any) -> bool:
    """Whether the settings of a model ask for a pooler."""
    return bool(getattr(model_config, "pooler", False))


def _lacks_pooler(kept: Iterable[str]) -> bool:
    return not any(name.startswith(POOLER) for name in kept)

"""The weights that a run takes over from the run it starts from (`init`), and its new parts.

The backbone is always kept; a head is kept only for the same task and codecs.
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
    """The weights of another run that a run with another head starts from.

    All masked heads predict masked tokens in the same way, so that part of the head is kept.
    """
    kept = (BODY, HIDDEN_WORDS) if head in MASKED_HEADS else (BODY,)
    return {name: value for name, value in tensors.items() if name.startswith(kept)}


def new_parts(kept: Iterable[str], head: Head, *, pooler: bool) -> str | None:
    """A sentence that names the parts of such a run that are new; None if all are kept.

    Args:
        pooler: whether the model has a pooler.
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
    verb = "is" if len(new) == 1 else "are"
    return f"{' and '.join(new)} {verb} new; all other weights are those of init"


def check_pooler(kept: Iterable[str], mode: str) -> None:
    """Refuses a pooler that `init` does not have and that would not be trained."""
    if mode != "full" and _lacks_pooler(kept):
        raise ConfigError(
            f'model.pooler = true with tune.mode = "{mode}": init has no pooler, and a new one '
            'would not be trained; set tune.mode = "full", or model.pooler = false'
        )


def with_new_parts(model: Any, kept: Mapping[str, Tensor], *, pooler: bool) -> dict[str, Tensor]:
    """The kept weights, with the model's own initial weights for new parts.

    Other missing weights stay missing. Weights of a run with the same head are complete and are
    returned unchanged.
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
    """Whether the settings of a model have a pooler."""
    return bool(getattr(model_config, "pooler", False))


def _lacks_pooler(kept: Iterable[str]) -> bool:
    return not any(name.startswith(POOLER) for name in kept)

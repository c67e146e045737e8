"""The models behind a model: of an ensemble its members, whose answers a task takes the mean of."""

from collections.abc import Sequence
from typing import Any

from ..models.ensemble import Ensemble


def members_of(model: Any) -> Sequence[Any]:
    """Of a single model itself."""
    return model.members if isinstance(model, Ensemble) else (model,)

"""The floors of a forecast: models without gradient that every score is printed beside.

`naive` repeats the last value, `seasonal` the last season, `ridge` is a linear regression fitted to
the training windows when a run ends.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from torch import Tensor

from ..data.store import Store
from ..models import FAMILIES
from ..models.state_dict import set_weights, weights_of

FLOORS = ("naive", "seasonal", "ridge")
PREFIX = "ridge."


def floor_tensors(task: Any, training: Store) -> dict[str, Tensor]:
    """The weights of the ridge regression; none if the windows have too many numbers for it."""
    family = FAMILIES["ridge"]
    assert family.count is not None
    try:
        model = family.count(family.config(), _sizes(task), task.sequences(training))
    except ValueError:
        return {}
    return {PREFIX + name: tensor for name, tensor in weights_of(model).items()}


def floor_models(task: Any, tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    """The floors by name; those that have weights only if a run has them."""
    sizes, models = _sizes(task), {}
    for name in FLOORS:
        family = FAMILIES[name]
        own = {k.removeprefix(PREFIX): v for k, v in tensors.items() if k.startswith(PREFIX)}
        model = family.build(family.config().resolve(0, sizes), sizes)
        if weights_of(model):
            if not own:
                continue
            set_weights(model, own, f"the {name} forecast of the run", resized=True)
        models[name] = model.eval()
    return models


def _sizes(task: Any) -> Any:
    """The sizes of a model with one number for each value."""
    horizon, channels = task.config.horizon, task.inputs.n_channels
    return replace(task.vocabularies, target=horizon * channels)

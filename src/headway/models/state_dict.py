"""A model's weights as named tensors, each shared matrix once."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from ..errors import RunError


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Every parameter and lasting buffer by its first name; they are not copies."""
    names: dict[int, str] = {}
    found: dict[str, Tensor] = {}
    for name, value in model.state_dict(keep_vars=True).items():
        if names.setdefault(id(value), name) == name:
            found[name] = value.detach()
    return found


@torch.no_grad()
def set_weights(
    model: nn.Module, tensors: Mapping[str, Tensor], origin: str, resized: bool = False
) -> None:
    """Copies tensors into the model; nothing may be missing, left over or of another shape.

    Args:
        resized: buffers take the tensors as they are, whatever their shape, as those of a model
            that was counted.

    Raises:
        RunError: naming every weight that does not fit.
    """
    own = weights_of(model)
    wrong = [f"{name} is missing" for name in own if name not in tensors]
    wrong += [f"{name} is not known to this model" for name in tensors if name not in own]
    wrong += [
        f"{name} has shape {tuple(tensors[name].shape)} instead of {tuple(value.shape)}"
        for name, value in own.items()
        if name in tensors and tensors[name].shape != value.shape and not resized
    ]
    if wrong:
        shown = "; ".join(wrong[:5]) + (f"; and {len(wrong) - 5} more" if len(wrong) > 5 else "")
        raise RunError(f"{origin} does not fit the model: {shown}; was the run file changed?")
    for name, value in own.items():
        if resized:
            owner, _, leaf = name.rpartition(".")
            setattr(model.get_submodule(owner), leaf, tensors[name].to(value.device))
        else:
            value.copy_(tensors[name])


@contextmanager
def using_weights(model: nn.Module, tensors: Mapping[str, Tensor] | None) -> Iterator[None]:
    """The model with other weights for a while; None leaves its own."""
    if tensors is None:
        yield
        return
    own = {name: value.clone() for name, value in weights_of(model).items()}
    set_weights(model, tensors, "the moving average")
    try:
        yield
    finally:
        set_weights(model, own, "the saved weights")

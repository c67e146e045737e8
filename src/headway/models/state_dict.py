"""A model's weights as named tensors, each shared matrix once."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from ..errors import RunError


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """All parameters and persistent buffers by their first name, not copied."""
    names: dict[int, str] = {}
    weights: dict[str, Tensor] = {}
    for name, value in model.state_dict(keep_vars=True).items():
        if names.setdefault(id(value), name) == name:
            weights[name] = value.detach()
    return weights


@torch.no_grad()
def set_weights(
    model: nn.Module, tensors: Mapping[str, Tensor], origin: str, resized: bool = False
) -> None:
    """Copies tensors into the model; nothing may be missing, left over or of another shape.

    Args:
        resized: buffers become the tensors, whatever their shape, as in a counting model.

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
        listed = "; ".join(wrong[:5]) + (f"; and {len(wrong) - 5} more" if len(wrong) > 5 else "")
        raise RunError(f"{origin} does not fit the model: {listed}; was the run file changed?")
    for name, value in own.items():
        if resized:
            owner, _, leaf = name.rpartition(".")
            setattr(model.get_submodule(owner), leaf, tensors[name].to(value.device))
        else:
            value.copy_(tensors[name])


@contextmanager
def using_weights(model: nn.Module, tensors: Mapping[str, Tensor] | None) -> Iterator[None]:
    """A context in which the model has other weights; None leaves its own."""
    if tensors is None:
        yield
        return
    own = {name: value.clone() for name, value in weights_of(model).items()}
    set_weights(model, tensors, "the moving average")
    try:
        yield
    finally:
        set_weights(model, own, "the saved weights")

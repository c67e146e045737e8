"""Recording attention while a model runs.

Only `attend` reads the recorder. Modules store nothing, and without a recorder there is no cost.
For the attention of a hypothesis, record one teacher-forced pass over it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from .positions import LearnedPositions, NoPositions, Sinusoidal


@dataclass(frozen=True)
class Attended:
    """The tensors of one call of `attend`.

    Attributes:
        query: transformed by the score where it is a product with the prepared keys.
        scale: the weights are the masked softmax of `scale * query^T key`; None if they are not,
            because of the score or of a bias.

    Shape: weights (B, H, Q, K), query (B, H, Q, E), key (B, H, K, E), value (B, H, K, E').
    """

    weights: Tensor
    query: Tensor
    key: Tensor
    value: Tensor
    scale: float | None


@dataclass(frozen=True)
class Details:
    """The records of one model, by module name.

    Attributes:
        embedded: for modules that add positions: the embeddings (..., T, D) and the position codes
            (T, D) added to them, or None if the module adds none.
    """

    attended: dict[str, Attended] = field(default_factory=dict)
    embedded: dict[str, tuple[Tensor, Tensor | None]] = field(default_factory=dict)


Maps = dict[str, Tensor]
Recorder = Callable[[nn.Module, Attended], None]
_recorder: ContextVar[Recorder | None] = ContextVar("recorder", default=None)


def recorder() -> Recorder | None:
    """The active recorder, if any."""
    return _recorder.get()


@contextmanager
def capture(model: nn.Module, layers: Callable[[str], bool] | None = None) -> Iterator[Maps]:
    """Yields a dictionary that is filled with attention weights (B, H, Q, K), by module name.

    The queries of a module that is called several times, as in the loop of a recurrent decoder,
    are concatenated in order.

    Args:
        layers: whether to record a module name; all by default.
    """
    names = {module: name for name, module in model.named_modules()}
    maps: Maps = {}

    def record(module: nn.Module, attended: Attended) -> None:
        name = names.get(module)
        if name is None or (layers is not None and not layers(name)):
            return
        weights = attended.weights.detach()
        maps[name] = torch.cat([maps[name], weights], dim=2) if name in maps else weights

    with _recording(record):
        yield maps


@contextmanager
def capture_details(model: nn.Module) -> Iterator[Details]:
    """Yields `Details` that are filled with weights, queries, keys, values and embeddings.

    Queries are concatenated as in `capture`. Keys and values are those of the last call; those of
    a recurrent decoder's memory are the same in every call.
    """
    names = {module: name for name, module in model.named_modules()}
    details = Details()

    def record(module: nn.Module, attended: Attended) -> None:
        name = names.get(module)
        if name is None:
            return
        before = details.attended.get(name)
        if before is not None:
            weights = torch.cat([before.weights, attended.weights], dim=2)
            query = torch.cat([before.query, attended.query], dim=2)
            attended = replace(attended, weights=weights, query=query)
        details.attended[name] = attended

    def record_codes(module: nn.Module, inputs: tuple[Any, ...], _: Tensor) -> None:
        if recorder() is not record:
            return  # called by another thread that uses the model
        x, *position_ids = inputs
        codes = None
        if not isinstance(module, NoPositions):
            codes = module.forward(torch.zeros_like(x), *position_ids)[(0,) * (x.dim() - 2)]
        details.embedded[names[module]] = x, codes

    positions = [m for m in names if isinstance(m, Sinusoidal | LearnedPositions | NoPositions)]
    hooks = [module.register_forward_hook(record_codes) for module in positions]
    try:
        with _recording(record):
            yield details
    finally:
        for hook in hooks:
            hook.remove()


@contextmanager
def _recording(record: Recorder) -> Iterator[None]:
    token = _recorder.set(record)
    try:
        yield
    finally:
        _recorder.reset(token)

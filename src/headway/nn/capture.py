"""Looking: record what attention does in chosen layers while a model runs.

The recorder is read in one place, `attend`; nothing is left lying on modules, and nothing is paid
when nobody looks. The attention of any hypothesis is one forced pass over it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from .positions import Learned, NoPositions, Sinusoidal


@dataclass(frozen=True)
class Attended:
    """One attention, all of it.

    Attributes:
        query: as it is compared with the keys.
        scale: the weights are the softmax of `scale * query^T key` over what the mask allows; None
            where they are something else, because of the score or of a bias.

    Shape: weights (B, H, Q, K), query (B, H, Q, E), key (B, H, K, E), value (B, H, K, E').
    """

    weights: Tensor
    query: Tensor
    key: Tensor
    value: Tensor
    scale: float | None


@dataclass(frozen=True)
class Details:
    """What was seen of a model, by module name.

    Attributes:
        embedded: of what adds positions: the embeddings (..., T, D) and the codes (T, D) that were
            added to them, None where nothing is.
    """

    attended: dict[str, Attended] = field(default_factory=dict)
    embedded: dict[str, tuple[Tensor, Tensor | None]] = field(default_factory=dict)


Maps = dict[str, Tensor]
Recorder = Callable[[nn.Module, Attended], None]
_recorder: ContextVar[Recorder | None] = ContextVar("recorder", default=None)


def recorder() -> Recorder | None:
    """Who is looking, if anyone."""
    return _recorder.get()


@contextmanager
def capture(model: nn.Module, layers: Callable[[str], bool] | None = None) -> Iterator[Maps]:
    """Yields a dictionary that holds, by module name, the weights (B, H, Q, K) that were used.

    A module that attends several times (a recurrent decoder, one query after another) has its
    queries joined in order.

    Args:
        layers: which module names to record; all of them by default.
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
    """Yields what `capture` does with all that the weights come from and go to.

    Queries are joined as there; keys and values are those of the last time, which for the memory
    of a recurrent decoder are those of every time.
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

    def add(module: nn.Module, given: tuple[Any, ...], _: Tensor) -> None:
        if recorder() is not record:
            return  # another thread uses the model meanwhile
        x, *place = given
        codes = None
        if not isinstance(module, NoPositions):
            codes = module.forward(torch.zeros_like(x), *place)[(0,) * (x.dim() - 2)]
        details.embedded[names[module]] = x, codes

    adding = [m for m in names if isinstance(m, Sinusoidal | Learned | NoPositions)]
    hooks = [module.register_forward_hook(add) for module in adding]
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

"""Looking: record the attention weights of chosen layers while a model runs.

The recorder is read in one place, `attend`; nothing is left lying on modules, and nothing is paid
when nobody looks. The attention of any hypothesis is one forced pass over it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor, nn

Maps = dict[str, Tensor]
_recorder: ContextVar[Callable[[nn.Module, Tensor], None] | None] = ContextVar(
    "recorder", default=None
)


def recorder() -> Callable[[nn.Module, Tensor], None] | None:
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

    def record(module: nn.Module, weights: Tensor) -> None:
        name = names.get(module)
        if name is None or (layers is not None and not layers(name)):
            return
        weights = weights.detach()
        maps[name] = torch.cat([maps[name], weights], dim=2) if name in maps else weights

    token = _recorder.set(record)
    try:
        yield maps
    finally:
        _recorder.reset(token)

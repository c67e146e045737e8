"""The source of random draws inside a model: one generator per micro-batch.

Threads and processes work on different micro-batches at the same time; each draws from a generator
of its own, so that what is drawn depends on the micro-batch and not on who computes it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch

_generator: ContextVar[torch.Generator | None] = ContextVar("generator", default=None)


def generator() -> torch.Generator | None:
    """The generator in force; None is torch's default one."""
    return _generator.get()


@contextmanager
def drawing_from(source: torch.Generator) -> Iterator[None]:
    """Draws of this thread come from `source` for a while."""
    token = _generator.set(source)
    try:
        yield
    finally:
        _generator.reset(token)

"""The random generator of a model's dropout: one per micro-batch.

Threads and processes compute different micro-batches at the same time. Each micro-batch has its own
generator, so that its random numbers do not depend on who computes it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch

_generator: ContextVar[torch.Generator | None] = ContextVar("generator", default=None)


def generator() -> torch.Generator | None:
    """The active generator; None means torch's default one."""
    return _generator.get()


@contextmanager
def use_generator(source: torch.Generator) -> Iterator[None]:
    """Makes `source` the generator of this thread in the `with` block."""
    token = _generator.set(source)
    try:
        yield
    finally:
        _generator.reset(token)

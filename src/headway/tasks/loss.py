"""Losses as named parts, each a sum with its own count and weight.

Counts are known from the batch before the forward pass; the training loop divides each part once,
by its count over the whole update, so that micro-batches and processes change nothing.
"""

from collections.abc import Mapping
from typing import Protocol

from torch import Tensor, nn

Batch = Mapping[str, Tensor]


class Objective(Protocol):
    """Model and loss in one module: what is trained, compiled and distributed."""

    model: nn.Module
    weights: Mapping[str, float]

    def counts(self, batch: Batch) -> dict[str, int]:
        """How many terms each part sums over."""
        ...

    def __call__(self, batch: Batch) -> dict[str, Tensor]:
        """The sum of each part."""
        ...

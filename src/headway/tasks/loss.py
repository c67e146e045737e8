"""Losses as named parts, each a sum with its own count and weight.

Counts are known from the batch before the forward pass; the training loop divides each part once,
by its count over the whole update, so that micro-batches and processes change nothing.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ..models import drawing_from

Batch = Mapping[str, Tensor]


class Objective(nn.Module):
    """Model and loss in one module: what is trained, compiled and distributed.

    Attributes:
        weights: of each part in the whole.
    """

    model: Any
    weights: Mapping[str, float]

    @abstractmethod
    def counts(self, batch: Batch) -> dict[str, int]:
        """How many terms each part sums over."""

    def tokens(self, batch: Batch) -> int:
        """How many tokens a batch has, by which speed is told: usually those of the first part."""
        return next(iter(self.counts(batch).values()))

    @abstractmethod
    def sums(self, batch: Batch) -> dict[str, Tensor]:
        """The sum of each part."""

    def forward(self, batch: Batch, seed: int | None = None) -> dict[str, Tensor]:
        """The sum of each part, with the random draws that `seed` decides."""
        if seed is None:
            return self.sums(batch)
        device = next(self.model.parameters()).device
        with drawing_from(torch.Generator(device).manual_seed(seed)):
            return self.sums(batch)


class ReadingObjective(Objective):
    """Of a model that only reads: speed is told in the tokens it reads."""

    def tokens(self, batch: Batch) -> int:
        return int(batch["src_valid"].sum())

"""Validation: the loss on all of the validation set, and whatever else a task measures on it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from .loss import Batch, Objective

SAMPLES = 3
TOKENS = 4096
"""In a batch of a validation, padding included."""


@dataclass(frozen=True)
class Validation:
    """Figures by name (`valid_loss`, `bleu`, ...) and a few samples (source, output, reference)."""

    figures: dict[str, float]
    samples: list[tuple[str, str, str]]


class Validator(ABC):
    """Validates models on a prepared set.

    Attributes:
        metric: what runs are judged by.
        lower_is_better: whether less of it is better.
    """

    def __init__(self, metric: str, lower_is_better: bool) -> None:
        self.metric = metric
        self.lower_is_better = lower_is_better

    @torch.inference_mode()
    def __call__(self, objective: Objective, limited: bool = False) -> Validation:
        """Validates the weights the model has now.

        Args:
            limited: outputs end at their reference's length, which makes the time of an untrained
                model that of a trained one.
        """
        was_training = objective.training
        objective.eval()
        try:
            return self.examine(objective, limited)
        finally:
            objective.train(was_training)

    def examine(self, objective: Objective, limited: bool) -> Validation:
        """The loss and what there is beside it."""
        loss = self._loss(objective)
        found = self.measure(objective, loss, limited)
        return Validation({"valid_loss": loss, **found.figures}, found.samples)

    def goodness(self, validation: Validation) -> float:
        """The figure to judge by, turned so that more is better."""
        value = validation.figures["valid_loss" if self.metric == "loss" else self.metric]
        return -value if self.lower_is_better else value

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """All of the set, each thing to predict once."""

    def measure(self, objective: Objective, loss: float, limited: bool) -> Validation:
        """What there is beside the loss."""
        return Validation({}, [])

    def _loss(self, objective: Objective) -> float:
        sums, counts = dict.fromkeys(objective.weights, 0.0), dict.fromkeys(objective.weights, 0)
        device = device_of(objective.model)
        for made in self.batches():
            batch = {name: value.to(device) for name, value in made.items()}
            for name, value in objective(batch).items():
                sums[name] += value.item()
            for name, count in objective.counts(batch).items():
                counts[name] += count
        weights = objective.weights.items()
        return sum(weight * sums[name] / max(counts[name], 1) for name, weight in weights)


def device_of(model: Any) -> torch.device:
    """Where a model computes; a table of probabilities has no tensors."""
    if not isinstance(model, nn.Module):
        return torch.device("cpu")
    tensors = (*model.parameters(), *model.buffers())
    return tensors[0].device if tensors else torch.device("cpu")

"""Several models as one: the mean of their probabilities at every step.

An ensemble is searched and scored through `start` and `step` like any other model. It is no family:
nothing trains it and no run file names it; `headway.load` makes it of several runs.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from ..nn.step import Cache, State, StepModel

Entry = TypeVar("Entry")


class Ensemble(nn.Module):
    """A `StepModel` whose logits are `log(mean_i p_i)` of its members.

    A State holds what the members' States hold, each name behind the member's number: `1/valid`.

    Args:
        models: at least one, all over the same target vocabulary.
    """

    def __init__(self, models: Sequence[StepModel]) -> None:
        super().__init__()
        if not models:
            raise ValueError("an ensemble of no models has no probabilities; give at least one")
        self.members = tuple(models)
        for i, model in enumerate(models):
            if isinstance(model, nn.Module):  # a table has no weights
                self.add_module(str(i), model)

    def logits(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Of members that give labels, log probabilities (B, V)."""
        of_members: Any = self.members
        return _log_mean([_log_softmax(model.logits(batch).float()) for model in of_members])

    def start(self, batch: Mapping[str, Tensor], prefix: Tensor | None = None) -> State:
        states = [model.start(batch, prefix) for model in self.members]
        memory = {
            f"{i}/{name}": value for i, s in enumerate(states) for name, value in s.memory.items()
        }
        return State(memory, _joined_cache(states))

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """tokens (B, N, t) -> log probabilities of the next one (B, N, V)."""
        memory, cache = state.memory, state.cache
        log_probs, states = [], []
        for i, model in enumerate(self.members):
            logits, after = model.step(tokens, State(_part(memory, i), _part(cache, i)))
            log_probs.append(_log_softmax(logits.float()))
            states.append(after)
        if len({values.size(-1) for values in log_probs}) > 1:
            sizes = ", ".join(str(values.size(-1)) for values in log_probs)
            raise ValueError(
                f"members write {sizes} different tokens; load runs that share one vocabulary"
            )
        return _log_mean(log_probs), state.successor(_joined_cache(states))


def _joined_cache(states: Sequence[State]) -> dict[str, Cache]:
    return {f"{i}/{name}": entry for i, s in enumerate(states) for name, entry in s.cache.items()}


def _part(entries: Mapping[str, Entry], number: int) -> dict[str, Entry]:
    """What one member put there, under its own names."""
    mark = f"{number}/"
    return {name.removeprefix(mark): e for name, e in entries.items() if name.startswith(mark)}


def _log_mean(log_probs: Sequence[Tensor]) -> Tensor:
    """The logarithm of the mean probability."""
    return torch.stack(list(log_probs)).logsumexp(0) - math.log(len(log_probs))


def _log_softmax(logits: Tensor) -> Tensor:
    """Log probabilities (..., V); a row of -inf alone stays so and does not become NaN."""
    total = logits.logsumexp(-1, keepdim=True)
    return logits - total.masked_fill(total == -torch.inf, 0.0)

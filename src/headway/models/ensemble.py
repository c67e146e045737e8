"""Ensembles: the mean of several models' probabilities at every step.

An ensemble is searched and scored through `start` and `step` like any other model. It is not a
family: it is not trained and no run file names it. `headway.load` makes it from several runs.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from ..nn.decoding import Cache, DecoderState, StepModel

Entry = TypeVar("Entry")


class Ensemble(nn.Module):
    """A `StepModel` whose logits are `log(mean_i p_i)` of its members.

    It has no `logits` of labels. Only a task knows which outputs have a mean: probabilities or
    values. Tasks combine the outputs of `members_of`.

    Its decoder state joins those of the members; names start with the member's index: `1/valid`.

    Args:
        models: at least one, all with the same target vocabulary.
    """

    def __init__(self, models: Sequence[StepModel]) -> None:
        super().__init__()
        if not models:
            raise ValueError("an ensemble of no models has no probabilities; pass at least one")
        self.members = tuple(models)
        for i, model in enumerate(models):
            if isinstance(model, nn.Module):  # a step model need not be a module
                self.add_module(str(i), model)

    def start(self, batch: Mapping[str, Tensor], prefix: Tensor | None = None) -> DecoderState:
        states = [model.start(batch, prefix) for model in self.members]
        memory = {
            f"{i}/{name}": value for i, s in enumerate(states) for name, value in s.memory.items()
        }
        return DecoderState(memory, _joined_cache(states))

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """tokens (B, N, t) -> log probabilities of the next one (B, N, V)."""
        memory, cache = state.memory, state.cache
        log_probs, states = [], []
        for i, model in enumerate(self.members):
            logits, after = model.step(tokens, DecoderState(_part(memory, i), _part(cache, i)))
            log_probs.append(_log_softmax(logits.float()))
            states.append(after)
        if len({values.size(-1) for values in log_probs}) > 1:
            sizes = ", ".join(str(values.size(-1)) for values in log_probs)
            raise ValueError(
                f"members have vocabularies of {sizes} tokens; load runs that share one vocabulary"
            )
        return _log_mean(log_probs), state.successor(_joined_cache(states))


def _joined_cache(states: Sequence[DecoderState]) -> dict[str, Cache]:
    return {f"{i}/{name}": entry for i, s in enumerate(states) for name, entry in s.cache.items()}


def _part(entries: Mapping[str, Entry], index: int) -> dict[str, Entry]:
    """The entries of one member, by its own names."""
    prefix = f"{index}/"
    return {name.removeprefix(prefix): e for name, e in entries.items() if name.startswith(prefix)}


def _log_mean(log_probs: Sequence[Tensor]) -> Tensor:
    """The logarithm of the mean probabilities."""
    return torch.stack(list(log_probs)).logsumexp(0) - math.log(len(log_probs))


def _log_softmax(logits: Tensor) -> Tensor:
    """Log probabilities (..., V); a row of only -inf stays -inf and does not become NaN."""
    total = logits.logsumexp(-1, keepdim=True)
    return logits - total.masked_fill(total == -torch.inf, 0.0)


def members_of(model: Any) -> Sequence[Any]:
    """The members of an ensemble, or the model itself."""
    return model.members if isinstance(model, Ensemble) else (model,)

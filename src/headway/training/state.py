"""The state that a run needs to resume exactly.

Numbers are saved as JSON, tensors as safetensors; there is no pickle. The state of random
generators is not part of it: random numbers are a function of the seed and of these numbers.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import RunError
from ..models.state_dict import set_weights, weights_of

EARLIEST = -math.inf
"""As `best_loss`: the earliest of equally good validations is best, as in runs of format 1."""


@dataclass
class Progress:
    """The position of a run: updates, data used, time, best validation."""

    step: int = 0
    epoch: int = 0
    batch: int = 0
    """Micro-batches used in this epoch."""
    tokens: int = 0
    seconds: float = 0.0
    """Time spent over all sessions, validation included."""
    best: float | None = None
    """Goodness of the best validation."""
    best_step: int = 0
    worse: int = 0
    """Validations since the best one."""
    best_loss: float | None = None
    """Loss of the best validation, which decides between equally good ones; `EARLIEST` if the
    earlier one wins."""
    is_ended: bool = False
    """Whether the deadline has ended the run before its last planned update."""
    is_validation_due: bool = False
    """Whether a signal stopped the run before the validation at its step was finished."""

    def is_better(self, goodness: float, loss: float) -> bool:
        """Whether a validation is better than all before it."""
        if self.best is None or goodness != self.best:
            return self.best is None or goodness > self.best
        return self.best_loss is not None and loss < self.best_loss

    def record_validation(self, goodness: float, loss: float) -> None:
        """Counts a validation after the present step."""
        if self.is_better(goodness, loss):
            self.best, self.best_step, self.worse = goodness, self.step, 0
            self.best_loss = EARLIEST if self.best_loss == EARLIEST else loss
        else:
            self.worse += 1

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Progress":
        is_whole = isinstance(data, Mapping) and all(
            isinstance(value, int | float | None) for value in data.values()
        )
        if not is_whole:
            raise RunError("the checkpoint's state is damaged; train again with another `out`")
        names = {field.name for field in fields(cls)}
        later = {"best_loss", "is_ended", "is_validation_due"}  # not in format 1
        if odd_names := (set(data) ^ names) - later:
            odd = ", ".join(sorted(odd_names))
            raise RunError(
                f"the checkpoint's state does not fit this headway: {odd}; resume with the headway "
                "that wrote it, or train again with another `out`"
            )
        return cls(**{"best_loss": EARLIEST, **data})


class MovingAverage:
    """`average = decay * average + (1 - decay) * weights`, with a faster start.

    The decay of update t is at most (1 + t) / (10 + t), so that the random initial weights fade.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.tensors = {name: value.clone() for name, value in weights_of(model).items()}

    @torch.no_grad()
    def update(self, model: nn.Module, step: int) -> None:
        decay = min(self.decay, (1 + step) / (10 + step))
        now = weights_of(model)
        floats = [name for name, value in self.tensors.items() if value.is_floating_point()]
        torch._foreach_lerp_(
            [self.tensors[name] for name in floats], [now[name] for name in floats], 1.0 - decay
        )
        for name in self.tensors.keys() - set(floats):  # counters cannot be averaged
            self.tensors[name].copy_(now[name])


def pack(
    model: nn.Module, optimizer: torch.optim.Optimizer, average: MovingAverage | None
) -> dict[str, Tensor]:
    """All tensors of a checkpoint under one flat naming."""
    tensors = {f"model.{name}": value for name, value in weights_of(model).items()}
    names: dict[Tensor, str] = {p: name for name, p in model.named_parameters()}
    for parameter, entries in optimizer.state.items():
        for key, value in entries.items():
            if isinstance(value, Tensor):
                tensors[f"optimizer.{key}.{names[parameter]}"] = value
    if average is not None:
        tensors |= {f"average.{name}": value for name, value in average.tensors.items()}
    return tensors


def unpack(
    tensors: Mapping[str, Tensor],
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    average: MovingAverage | None,
) -> None:
    """Loads the tensors of `pack` into model, optimiser and moving average."""
    set_weights(model, group(tensors, "model"), "the checkpoint")
    for name, parameter in model.named_parameters():
        state = optimizer.state[parameter]
        for key, value in tensors.items():
            prefix, _, rest = key.partition(".")
            entry, _, owner = rest.partition(".")
            if prefix == "optimizer" and owner == name:
                state[entry] = value.to(parameter.device).clone()
    if average is not None:
        stored = group(tensors, "average")
        if stored.keys() != average.tensors.keys():
            raise RunError(
                "the checkpoint has no moving average of these weights; was train.ema changed?"
            )
        average.tensors = {name: stored[name].clone() for name in average.tensors}


def group(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors whose names start with `prefix.`, under their names without it."""
    start = prefix + "."
    return {n.removeprefix(start): t for n, t in tensors.items() if n.startswith(start)}

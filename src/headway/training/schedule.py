"""Learning rate as a function of the update: a linear warm-up to the peak, then a schedule.

A schedule is a function in the table `SCHEDULES`; the first line of its docstring is its text in
the reference of the run file.
"""

import math
from collections.abc import Callable

from ..errors import ConfigError

Schedule = Callable[[int, int, int], float]
"""The fraction of the peak at update `step` (counted from 1) of `total`, after `warmup` updates."""

DECAY_SHARE = 0.1
"""Length of the decay of `wsd`, as a fraction of all updates."""


def learning_rate(name: str, peak: float, step: int, warmup: int, total: int) -> float:
    """The learning rate of update `step` (counted from 1) of `total`.

    Raises:
        ConfigError: no schedule has this name.
    """
    if name not in SCHEDULES:
        raise ConfigError(f"no schedule {name!r}; expected one of {', '.join(SCHEDULES)}")
    if step <= warmup:
        return peak * step / warmup
    return peak * SCHEDULES[name](step, warmup, total)


def cosine(step: int, warmup: int, total: int) -> float:
    """to zero along a half cosine"""
    return 0.5 * (1.0 + math.cos(math.pi * _progress(step, warmup, total)))


def inverse_sqrt(step: int, warmup: int, total: int) -> float:
    """proportional to 1/sqrt(step), as in the paper, whose peak is `1 / sqrt(d_model * warmup)`"""
    return math.sqrt(max(warmup, 1) / step)


def linear(step: int, warmup: int, total: int) -> float:
    """linear to zero"""
    return 1.0 - _progress(step, warmup, total)


def constant(step: int, warmup: int, total: int) -> float:
    """constant"""
    return 1.0


def warmup_stable_decay(step: int, warmup: int, total: int) -> float:
    """constant, then linear to zero over the last tenth of the updates (Hu et al. 2024)"""
    decay = max(1, round(DECAY_SHARE * total))
    return 1.0 - _progress(step, max(warmup, total - decay), total)


def _progress(step: int, start: int, total: int) -> float:
    """The fraction of the updates from `start` to `total` that is done, from 0 to 1."""
    return min(max((step - start) / max(total - start, 1), 0.0), 1.0)


SCHEDULES: dict[str, Schedule] = {
    "cosine": cosine,
    "inverse_sqrt": inverse_sqrt,
    "linear": linear,
    "constant": constant,
    "wsd": warmup_stable_decay,
}

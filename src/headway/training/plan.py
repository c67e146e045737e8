"""Defaults of open settings, from the corpus and the model, and the number of updates.

A short timed trial turns a budget in minutes into a number of updates. From then on such a run
equals one with `steps`, so that the schedule has a shape and resuming stays exact.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

from ..errors import ConfigError
from .config import TrainConfig

MEASURED_SHARE = 0.02  # of the budget
MEASURED_SECONDS = (2.0, 20.0)
MARGIN = 0.97  # of the budget; the rest is for checkpoints and a busy machine
VALIDATIONS = 10
FEWEST_VALIDATIONS = 3  # of a budget in minutes; below it the share of the data is lowered
VALIDATION_SHARE = 0.2  # of the budget
FEW_UPDATES = 100  # with fewer, hardly anything is learned
SMALLEST = 128  # tokens of a micro-batch; below it two workers are no faster than one


def fill_sizes(
    config: TrainConfig,
    n_parameters: int,
    workers: int,
    is_finetuned: bool = False,
    usual_tokens: int | None = None,
    usual_lr: float | None = None,
) -> TrainConfig:
    """Fills in batch size and learning rate from the model size, micro-batches from the workers.

    Args:
        usual_tokens: the task's batch size, in place of one by the model size.
        usual_lr: the task's learning rate, likewise.
        is_finetuned: all weights of a trained model are trained further, with a tenth of the usual
            rate, so that it does not forget.
    """
    small, medium = n_parameters < 10_000_000, n_parameters < 40_000_000
    by_size = 2048 if small else 4096 if medium else 8192
    tokens = config.batch_tokens or usual_tokens or by_size
    accumulate = config.accumulate or min(workers, max(1, tokens // SMALLEST))
    usual = usual_lr or (3e-3 if small else 1e-3 if medium else 5e-4)
    lr = config.lr or (usual / 10 if is_finetuned else usual)
    return replace(config, batch_tokens=tokens, accumulate=accumulate, lr=lr)


def fill_length(
    config: TrainConfig,
    n_examples: int,
    batches_per_epoch: Callable[[], int],
    measure: "Measure",
    is_warm: bool = False,
) -> TrainConfig:
    """Fills in number of updates, warm-up and updates between validations: all is resolved then.

    Args:
        is_warm: the model starts from a trained one and needs fewer epochs.
    """
    limits = [config.steps] if config.steps else []
    epochs = config.epochs
    if not (config.steps or config.epochs or config.minutes):
        most, seen = (20, 200_000) if is_warm else (60, 900_000)
        epochs = min(most, max(3, round(seen / n_examples)))
    if epochs:
        per_epoch = batches_per_epoch() / (config.accumulate or 1)
        limits.append(max(1, math.ceil(epochs * per_epoch)))
    validations, share = VALIDATIONS, config.evaluate_share or 1.0
    if config.minutes:
        budget = plan_minutes(config, measure)
        limits.append(budget.steps)
        validations, share = budget.validations, budget.share
    total = min(limits)
    every = config.evaluate_every or max(1, math.ceil(total / validations))
    warmup = config.warmup
    if warmup is None:
        warmup = min(4000, max(1, total // 12))
    return replace(
        config,
        steps=total,
        epochs=epochs,
        evaluate_every=every,
        evaluate_share=share,
        warmup=warmup,
    )


class Measure(ABC):
    """Times updates and validations of a trial model, which is discarded afterwards."""

    @abstractmethod
    def start(self) -> None:
        """Makes the trial model."""

    @abstractmethod
    def update(self, number: int) -> None: ...

    @abstractmethod
    def validate(self) -> None: ...

    def seconds_per_step(self, budget: float) -> float:
        """Mean time over different batches, after a few that warm up caches and allocator."""
        low, high = MEASURED_SECONDS
        allowed = min(max(budget * MEASURED_SHARE, low), high)
        for n in range(1, 4):
            self.update(n)
        start, n = time.perf_counter(), 3
        while time.perf_counter() - start < allowed or n < 6:
            n += 1
            self.update(n)
        return (time.perf_counter() - start) / (n - 3)

    def seconds_per_validation(self) -> float:
        start = time.perf_counter()
        self.validate()
        return time.perf_counter() - start


@dataclass(frozen=True)
class MinutesPlan:
    """What a number of minutes allows."""

    steps: int
    validations: int
    share: float
    """Share of the validation data that each validation uses."""


def plan_minutes(config: TrainConfig, measure: Measure) -> MinutesPlan:
    """Divides the minutes between updates and validations, after a timed trial.

    Validations get a fifth of the time at most: there are fewer of them, on less data, if they
    would take longer.

    Raises:
        ConfigError: the time is not enough for one update.
    """
    assert config.minutes is not None
    seconds = config.minutes * 60.0
    start = time.perf_counter()
    measure.start()
    validation = measure.seconds_per_validation()
    step = measure.seconds_per_step(seconds)
    spent = time.perf_counter() - start
    left = seconds * MARGIN - spent
    if left < step:
        least = (spent + FEW_UPDATES * step) / (1 - VALIDATION_SHARE) / MARGIN / 60.0
        raise ConfigError(
            f"train.minutes = {config.minutes:g} is not enough for one update, which takes "
            f"{step:.2g} s after {spent:.2g} s of set-up; give at least {least:.2g} minutes for "
            f"{FEW_UPDATES} updates"
        )
    share = config.evaluate_share
    if config.evaluate_every is not None:
        share = 1.0 if share is None else share
        each = step + share * validation / config.evaluate_every
        return MinutesPlan(max(1, int(left / each)), VALIDATIONS, share)
    allowed = VALIDATION_SHARE * left
    if share is not None:
        validation *= share
    n_whole = int(allowed / validation) if validation > 0 else VALIDATIONS
    validations = min(VALIDATIONS, max(FEWEST_VALIDATIONS if share is None else 1, n_whole))
    if share is None:
        share = min(1.0, allowed / (validations * validation)) if validation > 0 else 1.0
        validation *= share
    return MinutesPlan(max(1, int((left - validations * validation) / step)), validations, share)

"""The loop: updates, validations and checkpoints up to the planned number of updates.

Its input is a `TrainingJob`; the caller sets up data, processes, precision and compilation.
"""

import math
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor, nn

from ..errors import RunError
from ..models.state_dict import using_weights, weights_of
from ..nn.lora import merged
from ..runs import RunDir
from ..tasks.base import Batch, Validator
from .averaging import average_checkpoints
from .config import TrainConfig
from .distributed import Processes
from .journal import Journal
from .progress import Display
from .schedule import learning_rate
from .state import MovingAverage, Progress, group, pack
from .stop_signals import Interrupted, StoppedBySignal, StopSignals, catch_signals
from .update import Update, Updater

LOG_SECONDS = 2.0
OVERRUN = 1.15  # of the budget; then the user is warned
SAVE_SECONDS = 300.0  # the most work that a kill between validations loses


class Stream(Protocol):
    """Micro-batches in a fixed order, from any position."""

    def after(self, epoch: int, batch: int) -> Iterator[tuple[int, int, Callable[[], Batch]]]:
        """Endless micro-batches after the first `batch` of `epoch`.

        Yields the new position (epoch and batch) and a function that makes the micro-batch, so that
        a process makes only its own.
        """
        ...


@dataclass
class TrainingJob:
    """A training run, ready to start. `config` is resolved."""

    run: RunDir
    config: TrainConfig
    batches: "Stream"
    model: nn.Module
    updater: Updater
    average: MovingAverage | None
    validator: Validator | None
    processes: Processes
    display: Display
    progress: Progress
    starts_fitted: bool = False
    """Whether the initial weights of a new run are fitted already, and may be the best."""

    @property
    def total(self) -> int:
        assert self.config.steps is not None
        return self.config.steps


def fit(job: TrainingJob) -> None:
    """Trains from `job.progress` to the end and saves the weights to use."""
    tensorboard = job.config.tensorboard and job.processes.is_first
    clock = ThroughputLog(job.progress, Journal(job.run, tensorboard, job.progress.step))
    if job.progress.best is not None and _keeps_best(job) and not _restore_best(job):
        job.display.note(f"warning: {_lost_best(job)}")
    try:
        with catch_signals() as signals:
            is_start = job.starts_fitted and job.progress.step == 0
            if job.progress.is_validation_due or (is_start and job.progress.best is None):
                _evaluate_and_save(job, clock, signals)
            if not _is_over(job):
                _train(job, clock, signals)
        _finish(job)
    finally:
        clock.journal.close()
        job.display.close()


def _train(job: TrainingJob, clock: "ThroughputLog", signals: StopSignals) -> None:
    """Runs updates until the end or until a signal is caught."""
    progress = job.progress
    for batches in _updates(job):
        lr = _learning_rate(job)
        result = job.updater(batches, progress.step + 1, lr)
        _advance(job, result)
        clock.tick(job, result, lr)
        is_stopped, is_due, is_late = _should_stop_or_save(job, signals, clock)
        if is_late:
            _end_at_deadline(job)
        is_over = _is_over(job)
        if is_over or job.config.plans_checkpoint(progress.step):
            _evaluate_and_save(job, clock, signals, is_stopped)
            is_over = is_over or _out_of_patience(job)
        if is_over:
            return
        clock.warn_of_overrun(job)
        if is_stopped or is_due:
            _checkpoint(job, clock)
        if is_stopped:
            raise _interruption(job, signals)


def _learning_rate(job: TrainingJob) -> float:
    config = job.config
    assert config.lr is not None
    assert config.warmup is not None
    step = job.progress.step + 1
    return learning_rate(config.schedule, config.lr, step, config.warmup, job.total)


def _updates(job: TrainingJob) -> Iterator[list[tuple[int, Batch]]]:
    """This process's micro-batches of each update; advances epoch and batch of the progress."""
    stream = job.batches.after(job.progress.epoch, job.progress.batch)
    while True:
        mine = []
        for index in range(job.config.accumulate or 1):
            epoch, number, make = next(stream)
            if index % job.processes.world == job.processes.rank:
                mine.append((index, make()))
        job.progress.epoch, job.progress.batch = epoch, number
        yield mine


def _advance(job: TrainingJob, result: Update) -> None:
    if not all(map(math.isfinite, (*result.losses.values(), result.norm))):
        raise RunError(
            f"the loss or its gradient is not a finite number at step {job.progress.step + 1}; "
            f"train again with a train.lr lower than {job.config.lr:g} or a longer train.warmup"
        )
    job.progress.step += 1
    job.progress.tokens += result.tokens
    if job.average is not None:
        job.average.update(job.model, job.progress.step)


class ThroughputLog:
    """Measures the time spent and logs the figures every few seconds."""

    def __init__(self, progress: Progress, journal: Journal) -> None:
        self.progress = progress
        self.journal = journal
        self.before = progress.seconds
        self.start = self.last = self.saved = time.perf_counter()
        self.is_warned = False
        self.tokens = 0
        self.losses: list[dict[str, float]] = []

    def stop(self) -> None:
        """Writes the time spent into the progress."""
        self.progress.seconds = self.before + time.perf_counter() - self.start

    def elapsed(self) -> float:
        """Seconds of the run until now, over all sessions."""
        return self.before + time.perf_counter() - self.start

    def warn_of_overrun(self, job: TrainingJob) -> None:
        """Says once that the updates take longer than planned."""
        if job.config.minutes is None or self.is_warned:
            return
        used = self.elapsed() / 60.0
        if used > OVERRUN * job.config.minutes:
            self.is_warned = True
            left = used / job.progress.step * (job.total - job.progress.step)
            job.display.note(
                f"warning: {used:.1f} of {job.config.minutes:g} minutes are used, because the "
                f"machine is slower than in the trial; the remaining "
                f"{job.total - job.progress.step} updates take about {left:.1f} minutes "
                "(train.deadline = true would stop here)"
            )

    def unsaved(self) -> float:
        """Seconds since the last checkpoint."""
        return time.perf_counter() - self.saved

    def tick(self, job: TrainingJob, result: Update, lr: float) -> None:
        self.tokens += result.tokens
        self.losses.append({"loss": result.loss, **_parts(result)})
        now = time.perf_counter()
        if now - self.last < LOG_SECONDS and self.progress.step != job.total:
            return
        self.stop()
        rate = self.tokens / (now - self.last)
        steps_left = job.total - self.progress.step
        figures = {
            **{k: sum(loss[k] for loss in self.losses) / len(self.losses) for k in self.losses[0]},
            "lr": lr,
            "tokens_per_second": rate,
            "seconds_left": steps_left * (now - self.last) / len(self.losses),
        }
        job.display.update(self.progress.step, job.total, figures)
        if job.processes.is_first:
            record = {k: v for k, v in figures.items() if k != "seconds_left"}
            self.journal.append(
                self.progress.step,
                {
                    "epoch": self.progress.epoch,
                    "minutes": self.progress.seconds / 60.0,
                    **record,
                    "norm": result.norm,
                },
            )
        self.last, self.tokens, self.losses = now, 0, []


def _parts(result: Update) -> dict[str, float]:
    """The parts of the loss, if there are several."""
    if len(result.losses) == 1:
        return {}
    return {f"{name}_loss": value for name, value in result.losses.items()}


def _evaluate_and_save(
    job: TrainingJob, clock: ThroughputLog, signals: StopSignals, is_stopped: bool = False
) -> None:
    """Validates and writes a checkpoint.

    Raises:
        Interrupted: a signal stops the validation, or `is_stopped` is set. The checkpoint is
            written, and a resumed run begins with the validation.
    """
    if job.validator is not None:
        result = None
        if job.processes.is_first and not is_stopped:
            result = _evaluate(job, job.validator, clock, signals)
        result = job.processes.share(result)
        job.progress.is_validation_due = result is None
        if result is not None:
            job.progress.record_validation(*result)
    _checkpoint(job, clock)
    if job.progress.is_validation_due:
        raise _interruption(job, signals)


def _evaluate(
    job: TrainingJob, validator: Validator, clock: ThroughputLog, signals: StopSignals
) -> tuple[float, float] | None:
    """Goodness and loss of the current weights; None if a signal stops the validation."""
    progress, started = job.progress, time.perf_counter()
    with using_weights(job.model, job.average.tensors if job.average else None):
        try:
            with signals.ending_work():
                validation = validator(job.updater.objective)
        except StoppedBySignal:
            return None
        goodness, loss = validator.goodness(validation), validation.figures["valid_loss"]
        is_best = progress.is_better(goodness, loss)
        if is_best and job.config.choose == "best":
            _save_weights(job, weights_of(job.model), f"best by {validator.metric}")
    clock.stop()
    clock.last += time.perf_counter() - started  # validation is not training speed
    job.display.validation(progress.step, validation.figures, is_best)
    job.display.samples(validation.samples)
    clock.journal.append(
        progress.step,
        {
            "epoch": progress.epoch,
            "minutes": progress.seconds / 60.0,
            **validation.figures,
            "samples": validation.samples,
        },
    )
    return goodness, loss


def _save_weights(
    job: TrainingJob, tensors: dict[str, Tensor], rule: str, step: int | None = None
) -> None:
    job.run.save_weights(merged(tensors), _rule(job, rule), step or job.progress.step)


def _rule(job: TrainingJob, rule: str) -> str:
    """The rule that chose the weights, with the moving average if there is one."""
    return rule if job.average is None else f"{rule}, moving average {job.config.ema}"


def _checkpoint(job: TrainingJob, clock: ThroughputLog) -> None:
    clock.stop()
    clock.saved = time.perf_counter()
    if job.processes.is_first:
        tensors = pack(job.model, job.updater.optimizer, job.average)
        job.run.save_checkpoint(
            job.progress.step,
            tensors,
            {"progress": job.progress.to_json()},
            keep=max(job.config.keep, job.config.average),
            counts=job.config.plans_checkpoint,
        )
    job.processes.wait()


def _out_of_patience(job: TrainingJob) -> bool:
    patience = job.config.patience
    if patience is None or job.progress.worse < patience:
        return False
    job.display.note(
        f"stopped early: {job.progress.worse} validations without a better one than that of step "
        f"{job.progress.best_step}"
    )
    return True


def _end_at_deadline(job: TrainingJob) -> None:
    """Ends the run at this update; recorded, so that a resumed run ends here too."""
    if job.progress.step < job.total:
        job.progress.is_ended = True
        job.display.note(
            f"stopped at the deadline, after step {job.progress.step} of {job.total}: "
            f"train.minutes = {job.config.minutes:g} are over"
        )


def _is_over(job: TrainingJob) -> bool:
    patience, progress = job.config.patience, job.progress
    is_stale = patience is not None and progress.worse >= patience
    return progress.step >= job.total or progress.is_ended or is_stale


def _finish(job: TrainingJob) -> None:
    """Writes the weights to use, unless the best validation has already."""
    if not job.processes.is_first:
        return
    if job.config.average > 1:
        _save_average(job)
    elif not _keeps_best(job):
        own = job.average.tensors if job.average else weights_of(job.model)
        _save_weights(job, own, "last")
    elif not _restore_best(job):
        raise RunError(
            f"{_lost_best(job)}; restore model.safetensors from a copy, use the last weights "
            '(`weights="last"`), or train again with another `out`'
        )
    _warn_of_poor_weights(job)


def _keeps_best(job: TrainingJob) -> bool:
    """Whether the weights to use are those of the best validation."""
    return job.validator is not None and job.config.choose == "best" and job.config.average == 1


def _save_average(job: TrainingJob) -> None:
    """Writes the average of the last checkpoints; one that was written before stays."""
    last, run = job.progress.step, job.run
    steps = [s for s in run.checkpoints() if s == last or job.config.plans_checkpoint(s)]
    steps = steps[-job.config.average :]
    if run.has_weights() and run.load_weights()[1]["rule"] == _rule(job, _average_of(steps)):
        return
    whole = [step for step in steps if _is_whole(job, step)]
    prefix = "average" if job.average else "model"
    _save_weights(job, average_checkpoints(run, whole, prefix), _average_of(whole))


def _average_of(steps: list[int]) -> str:
    return "average of steps " + ", ".join(map(str, steps))


def _restore_best(job: TrainingJob) -> bool:
    """Writes missing or damaged weights again from their checkpoint; whether they are there now."""
    best, run = job.progress.best_step, job.run
    if not job.processes.is_first or run.has_weights():
        return True
    if best not in run.checkpoints() or not _is_whole(job, best):
        return False
    assert job.validator is not None
    tensors = group(run.load_checkpoint(best).tensors, "average" if job.average else "model")
    _save_weights(job, tensors, f"best by {job.validator.metric}", best)
    job.display.note(
        f"model.safetensors was missing or damaged; written again from checkpoint step-{best}"
    )
    return True


def _lost_best(job: TrainingJob) -> str:
    kept = ", ".join(map(str, job.run.checkpoints()))
    return (
        f"{job.run.path}/model.safetensors is missing or damaged, and there is no whole checkpoint "
        f"of its step {job.progress.best_step} to write it from (there are those of {kept})"
    )


def _warn_of_poor_weights(job: TrainingJob) -> None:
    """Says so if the kept weights may be no good although they are the best."""
    progress, config = job.progress, job.config
    if job.validator is None or not _keeps_best(job):
        return
    metric = job.validator.metric
    if progress.best == 0 and not job.validator.lower_is_better:
        job.display.note(
            f"warning: the best validation has {metric} 0; train longer, or set train.metric to "
            "one that fits the targets"
        )
    elif progress.best is not None and progress.best_step == 0:  # only fitted starts are validated
        job.display.note(
            "warning: the kept weights are those of the start, a fitted linear model: "
            f"{metric} was never better in training; set a lower train.lr, or a smaller model"
        )
    elif progress.best_step == config.evaluate_every and progress.worse:
        job.display.note(
            f"warning: the kept weights are those of the first validation (step "
            f"{progress.best_step}): {metric} was never better; set a lower train.lr, or use the "
            'weights "last"'
        )


def _is_whole(job: TrainingJob, step: int) -> bool:
    """Whether a checkpoint is undamaged; notes it if not."""
    try:
        job.run.load_checkpoint(step)
    except RunError as error:
        job.display.note(f"{error}; left out")
        return False
    return True


def _should_stop_or_save(
    job: TrainingJob, signals: StopSignals, clock: ThroughputLog
) -> tuple[bool, bool, bool]:
    """Whether to stop and whether to save; all processes must do so at the same update."""
    is_due = job.processes.is_first and clock.unsaved() > SAVE_SECONDS
    limit = job.config.minutes if job.config.deadline else None
    is_late = job.processes.is_first and limit is not None and clock.elapsed() > 60.0 * limit
    claims = (signals.number is not None, is_due, is_late)
    stop, save, late = job.processes.sum(list(map(float, claims)))
    return stop > 0, save > 0, late > 0


def _interruption(job: TrainingJob, signals: StopSignals) -> Interrupted:
    return Interrupted(
        f"stopped at step {job.progress.step} of {job.total}, saved; "
        f"continue with: headway resume {job.run.path}",
        signals.number or signal.SIGTERM,  # another process was stopped
    )

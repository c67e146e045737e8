"""Builds a `TrainingJob` with resolved settings from a run file and prepared data."""

import json
import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from .. import config as configs
from ..data.batching import Batches
from ..data.prepare import Prepared
from ..data.store import Store
from ..device import autocast, compile_model
from ..errors import ConfigError, RunError
from ..models import FAMILIES, build_model
from ..models.finetuning import tune
from ..models.state_dict import set_weights
from ..run_config import RunConfig
from ..runs import RunDir
from ..tasks.base import Task
from .batch_stream import BatchStream
from .config import TrainConfig
from .context import TrainingContext
from .loop import TrainingJob
from .optimizer import make_optimizer
from .plan import FEW_UPDATES, fill_length, fill_sizes
from .resolve import FEWEST_EXAMPLES, make_validator, model_line, resolve_model
from .seeds import seed_start
from .state import MovingAverage, Progress, unpack
from .timing import TimedTrial
from .update import Updater
from .warm_start import has_pooler, with_new_parts

PLAN = "plan.json"
PLANNED = ("steps", "epochs", "warmup", "evaluate_every", "evaluate_share", "metric")


def build_job(
    context: TrainingContext, task: Task, training: Prepared, validation: Prepared | None
) -> TrainingJob:
    """The job before its first update; writes the resolved run file to the run."""
    n_examples = len(training.store)
    config = resolve_model(context.config, task, n_examples)
    model = _build_model(context, config, task)
    n_parameters = sum(p.numel() for p in model.parameters())
    n_trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    settings = _with_sizes(context, config.train, n_parameters, task, training.store)
    if settings.label_smoothing is None:
        settings = replace(settings, label_smoothing=task.label_smoothing)
    builder = _JobBuilder(context, config, task, training, validation, settings)
    settings = _with_length(context, settings, n_examples, builder)
    config = replace(config, train=settings)
    if context.group.is_first:
        context.run.write_text("run.toml", configs.to_toml(config))
    context.note("Settings", model_line(config, n_examples, n_parameters, task))
    _announce(context, config, n_parameters, n_trained)
    if validation is not None:
        context.note("Settings", _validation_line(settings, validation))
    return builder.build(settings)


def restore_checkpoint(context: TrainingContext, job: TrainingJob) -> None:
    """Loads the latest checkpoint into the job and cuts the log back to it."""
    saved = context.run.latest_checkpoint(context.display.note)
    if saved is not None:
        unpack(saved.tensors, job.model, job.updater.optimizer, job.average)
        job.progress = Progress.from_json(saved.state.get("progress", {}))
        is_finished = saved.step >= job.total
        state = "finished at" if is_finished else "continuing after"
        context.display.note(f"{state} step {saved.step} of {job.total}")
    if context.group.is_first:
        context.run.log.cut(job.progress.step if saved else -1, context.display.note)


class _JobBuilder:
    """Makes the jobs of one run: a trial to measure the speed, then the real one.

    Attributes:
        planning_seconds: the time of the trial, which is part of a budget in minutes.
    """

    def __init__(
        self,
        context: TrainingContext,
        config: RunConfig,
        task: Task,
        training: Prepared,
        validation: Prepared | None,
        settings: TrainConfig,
    ) -> None:
        self.context, self.config, self.task = context, config, task
        self.training = training
        self.stream = _make_stream(context, task, training, settings)
        self.validation = validation
        self.planning_seconds = 0.0

    def metric(self, settings: TrainConfig) -> str:
        """The metric that ranks validations; `auto` is the one that fits the validation data."""
        if settings.metric != "auto" or self.validation is None:
            return settings.metric
        return self.task.fitting_metric(self.validation.store)

    def build(self, settings: TrainConfig) -> TrainingJob:
        """A job with a freshly seeded model and optimizer."""
        context, device = self.context, self.context.device
        config = replace(self.config, train=settings)
        seed_start(config.seed)
        model = _build_model(context, config, self.task)
        is_new = config.init is None and not context.run.checkpoints()
        starts_fitted = is_new and self.task.initialise(model, self.training.store)
        model = model.to(device)
        objective = self.task.objective(model, settings.label_smoothing or 0.0).train()
        optimizer = make_optimizer(model, settings, settings.lr or 1e-3)
        is_compiled = compile_model(model, settings.compile, device, context.display.note)
        # Parallel micro-batches use the cores of a CPU; compiled models do not support threads.
        is_plain = device.type == "cpu" and not is_compiled
        workers = min(settings.accumulate or 1, torch.get_num_threads()) if is_plain else 1
        return TrainingJob(
            run=context.run,
            config=settings,
            batches=self.stream,
            model=model,
            updater=Updater(
                objective,
                optimizer,
                config.seed,
                settings.clip,
                context.group,
                autocast(device, settings.precision, context.display.note),
                workers,
            ),
            average=MovingAverage(model, settings.ema) if settings.ema else None,
            validator=make_validator(config, self.task, self.validation, settings),
            processes=context.group,
            display=context.display,
            progress=Progress(seconds=self.planning_seconds),
            starts_fitted=starts_fitted,
        )


def _build_model(context: TrainingContext, config: RunConfig, task: Task) -> Any:
    """The model with its initial weights; weights that are not trained are frozen."""
    model = build_model(config.model, task.vocabularies)
    tensors = context.run.load_init()
    if tensors is None and config.init is not None:
        raise RunError(
            f"{context.run.path} has no init.safetensors, the weights it started from; restore it "
            "from a copy, or train again with another `out`"
        )
    if tensors is None:
        return model
    whole = with_new_parts(model, tensors, pooler=has_pooler(config.model))
    try:
        set_weights(model, whole, f"init = {config.init!r}")
        tune(model, FAMILIES[config.model.family], config.tune)
    except (RunError, ValueError) as error:
        raise ConfigError(str(error)) from None
    return model


def _with_sizes(
    context: TrainingContext, settings: TrainConfig, n_parameters: int, task: Task, store: Store
) -> TrainConfig:
    """The settings with batch size, learning rate and micro-batches filled in."""
    world = context.group.world
    on_cpu = context.device.type == "cpu"
    is_finetuned = context.config.init is not None and context.config.tune.mode == "full"
    workers = torch.get_num_threads() if on_cpu else 1
    usual_tokens = task.batch_tokens(store)
    sized = fill_sizes(settings, n_parameters, workers, is_finetuned, usual_tokens, task.usual_lr)
    if settings.accumulate is None and world > 1:
        sized = replace(sized, accumulate=world)
    if (sized.accumulate or 1) % world:
        raise ConfigError(
            f"train.accumulate={sized.accumulate} micro-batches cannot be divided among {world} "
            f"processes; try train.accumulate={world}"
        )
    return sized


def _with_length(
    context: TrainingContext, settings: TrainConfig, n_examples: int, builder: _JobBuilder
) -> TrainConfig:
    """The settings with the number of updates, warm-up and validations, planned once per run."""
    run = context.run
    if context.group.is_first and not _has_plan(context, settings):
        if settings.minutes:
            context.display.note(f"measuring the number of updates in {settings.minutes:g} minutes")
        trial = replace(settings, steps=1, warmup=1)
        measure = TimedTrial(lambda: builder.build(trial), context.group.world)
        is_warm = context.config.init is not None
        n_batches: Callable[[], int] = builder.stream.n_batches
        started = time.perf_counter()
        planned = fill_length(settings, n_examples, n_batches, measure, is_warm)
        builder.planning_seconds = time.perf_counter() - started if settings.minutes else 0.0
        _warn_of_short_budget(context, planned)
        planned = replace(planned, metric=builder.metric(settings))
        _write_plan(run, planned)
    context.group.wait()
    return replace(settings, **_read_plan(run))


def _write_plan(run: RunDir, planned: TrainConfig) -> None:
    chosen = {name: getattr(planned, name) for name in PLANNED}
    run.write_text(PLAN, json.dumps(chosen, indent=2) + "\n")


def _has_plan(context: TrainingContext, settings: TrainConfig) -> bool:
    """Whether the run has a plan. A damaged or missing one is made again, exactly.

    A run with a checkpoint has the planned values in its run file as well. Before that, nothing
    depends on the plan and a new one will do.

    Raises:
        RunError: the two files disagree.
    """
    run, is_trained = context.run, bool(context.run.checkpoints())
    if not run.expects(PLAN) and not is_trained:
        return False
    try:
        plan = _read_plan(run)
    except RunError:
        source = "from run.toml" if is_trained else "anew"
        context.display.note(f"{run.path / PLAN} is missing or damaged; planned {source}")
        if is_trained:
            _write_plan(run, settings)
        return is_trained
    for name, value in plan.items():
        if is_trained and value != getattr(settings, name):
            raise RunError(
                f"train.{name} is {getattr(settings, name)} in {run.path}/run.toml and {value} in "
                f"{PLAN}; restore the file that was changed"
            )
    return True


def _read_plan(run: RunDir) -> dict[str, Any]:
    """The plan of a run.

    Raises:
        RunError: it is missing or damaged.
    """
    plan = run.read_json(PLAN)
    planned = {name: value for name, value in plan.items() if value is not None}
    try:
        settings = configs.parse(planned, TrainConfig, str(run.path / PLAN))
    except ConfigError as error:
        raise RunError(str(error)) from None
    if not settings.steps or not plan.keys() <= set(PLANNED):
        raise RunError(f"{run.path / PLAN} is damaged; restore it from a copy")
    return plan


def _warn_of_short_budget(context: TrainingContext, planned: TrainConfig) -> None:
    assert planned.steps is not None
    if planned.minutes and planned.steps < FEW_UPDATES:
        needed = planned.minutes * FEW_UPDATES / planned.steps
        context.note(
            "Settings",
            f"warning: train.minutes = {planned.minutes:g} allows {planned.steps} updates, and "
            f"little is learned in so few; {FEW_UPDATES} would take about {needed:.2g} minutes, or "
            f"lower train.batch_tokens = {planned.batch_tokens} for more updates",
        )


def _make_stream(
    context: TrainingContext, task: Task, training: Prepared, settings: TrainConfig
) -> BatchStream:
    assert settings.batch_tokens is not None
    assert settings.accumulate is not None
    budget = max(1, settings.batch_tokens // settings.accumulate)
    weights = [corpus.weight for corpus in context.corpora("train")]
    seed = context.config.seed

    def epoch(number: int) -> tuple[Store, Batches]:
        store, sizes = training.at(seed, number)
        sized = task.sized(store)
        batches = Batches(sized, task.lengths, budget, seed, sizes=sizes, weights=weights)
        return store, batches

    return BatchStream(task, epoch, seed, context.device)


def _announce(
    context: TrainingContext, config: RunConfig, n_parameters: int, n_trained: int
) -> None:
    """Notes the resolved settings."""
    t = config.train
    if n_trained < n_parameters:
        share = 100 * n_trained / n_parameters
        mode = f'tune.mode = "{config.tune.mode}"'
        context.note("Settings", f"{mode}: {n_trained:,} of these ({share:.2f}%) are trained")
    context.note(
        "Settings",
        f"{t.steps} updates of {t.batch_tokens} tokens in {t.accumulate} parts, {t.optimizer} "
        f"with lr {t.lr:g}, {t.schedule} after {t.warmup} updates of warm-up, on {context.device}",
    )


def _validation_line(settings: TrainConfig, validation: Prepared) -> str:
    assert settings.steps is not None
    assert settings.evaluate_every is not None
    n = math.ceil(settings.steps / settings.evaluate_every)
    n_examples = len(validation.sample(settings.evaluate_share or 1.0, FEWEST_EXAMPLES))
    of_all = "" if n_examples == len(validation.store) else f" of {len(validation.store)}"
    return (
        f"{n} validation{'s' * (n > 1)} on {n_examples}{of_all} examples, one after every "
        f"{settings.evaluate_every} updates, ranked by {settings.metric}"
    )

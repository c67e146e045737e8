"""Runs of counting models: one pass over the training data, no updates."""

import time
from dataclasses import fields
from typing import Any

from .. import config as configs
from ..data.prepare import Prepared
from ..errors import ConfigError
from ..models import FAMILIES
from ..models.state_dict import weights_of
from ..run_config import RunConfig
from ..tasks.base import Task
from .config import TrainConfig
from .context import TrainingContext
from .journal import Journal
from .resolve import make_validator, model_line, resolve_model


def count_run(
    context: TrainingContext, task: Task, training: Prepared, validation: Prepared | None
) -> None:
    """Counts, saves and validates the model; an unfinished run counts anew."""
    if not context.group.is_first or (context.run.has_weights() and context.is_finished()):
        return
    started, family = time.perf_counter(), FAMILIES[context.config.model.family]
    assert family.count is not None
    if context.config.init is not None:
        raise ConfigError(
            f"init = {context.config.init!r} has no meaning for model.family = {family.name!r}, "
            "which counts from scratch; leave it out"
        )
    config = resolve_model(context.config, task, len(training.store))
    context.run.write_text("run.toml", configs.to_toml(config))
    context.run.log.cut(-1, context.display.note)
    try:
        sequences = task.sequences(training.store)
        model = family.count(config.model, task.vocabularies, sequences)
    except ValueError as error:
        raise ConfigError(f"model: {error}") from None
    tensors = weights_of(model)
    _note_unused(context, config.train)
    n_counted = sum(tensor.numel() for tensor in tensors.values())
    context.note("Settings", model_line(config, len(training.store), n_counted, task))
    context.run.save_weights(tensors, "counted", 0)
    context.log_start(0)
    _validate(context, task, model.eval(), validation, config, started)
    context.log_end(0)


def _validate(
    context: TrainingContext,
    task: Task,
    model: Any,
    validation: Prepared | None,
    config: RunConfig,
    started: float,
) -> None:
    """Validates a counted model and logs the result."""
    journal = Journal(context.run, config.train.tensorboard, 0)
    record: dict[str, Any] = {"minutes": (time.perf_counter() - started) / 60.0}
    validator = make_validator(context.config, task, validation, config.train)
    if validator is not None:
        result = validator(task.objective(model, 0.0))
        context.display.validation(0, result.figures, is_best=True)
        context.display.samples(result.samples)
        record |= {**result.figures, "samples": result.samples}
    journal.append(0, record)
    journal.close()
    context.display.close()


def _note_unused(context: TrainingContext, settings: TrainConfig) -> None:
    """Notes the settings that a counting model ignores."""
    usual, used = TrainConfig(), ("metric", "evaluate_sample", "tensorboard")
    unused = [
        f"train.{field.name}"
        for field in fields(settings)
        if field.name not in used and getattr(settings, field.name) != getattr(usual, field.name)
    ]
    if any(corpus.weight != 1.0 for corpus in context.corpora("train")):
        unused.append("data.train.weight")
    if context.config.text.dropout:
        unused.append("text.dropout")
    if unused:
        family = context.config.model.family
        context.note("Settings", f"{', '.join(unused)} not used: {family} learns by counting")

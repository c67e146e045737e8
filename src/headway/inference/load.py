"""`load`: trained models from run directories, each of its task's class.

Tasks name their class as `module:class`, so that training does not import it.
"""

from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar, cast

from ..arguments import checked
from ..device import pick_device
from ..errors import ConfigError, RunError
from ..models import FAMILIES, build_model
from ..models.ensemble import Ensemble
from ..models.state_dict import set_weights
from ..run_config import load_run_config
from ..runs import RunDir
from ..tasks import TASKS, task_class
from .base import EnsembleMember, TrainedModel
from .weights import load_weights

AnyModel = TypeVar("AnyModel", bound=TrainedModel)


@checked
def load(
    path: str | Path, *more: str | Path, device: str | None = None, weights: str | int | None = None
) -> Any:
    """The model of a run directory, ready to use; the ensemble of several.

    The run's task decides the class: `Translator`, `LanguageModel`, `Classifier`, `Tagger`,
    `Answerer`, `Regressor` or `Pretrained`. An ensemble averages the probabilities of its models;
    its search settings are those of the first run.

    Args:
        device: replaces the device of the run file.
        weights: `best`, `last` or the number of a step, in place of the weights that the run kept.

    Raises:
        RunError: a directory is no run, is damaged, has no weights yet, or has another task,
            vocabulary or window than the first.
    """
    chosen = None if weights is None else str(weights)
    members = [_load_run(p, device, chosen) for p in (path, *more)]
    first, *others = members
    if not others:
        return first
    for other in others:
        _check_compatible(first, other)
    return type(first)(
        first.run,
        first.config,
        first.task,
        Ensemble([member.model for member in members]).eval(),
        first.weights_info,
        [EnsembleMember(member.run, member.weights_info) for member in others],
        min(member.max_length for member in members),
    )


def load_for(
    command: str,
    cls: type[AnyModel],
    path: str | Path,
    *more: str | Path,
    device: str | None = None,
    weights: str | None = None,
) -> AnyModel:
    """Loads runs for a command that needs one class of trained models.

    Raises:
        ConfigError: the run is of another class.
    """
    require_task(command, cls, path)
    model: AnyModel = load(path, *more, device=device, weights=weights)
    return model


def require_task(
    command: str, expected: type[TrainedModel] | tuple[type[TrainedModel], ...], path: str | Path
) -> None:
    """Refuses a run that a command cannot use.

    Raises:
        ConfigError: names the commands that can.
    """
    run = RunDir.open(path)
    config = load_run_config(run)
    cls = trained_class(config.task)
    if not issubclass(cls, expected):
        fitting = " or ".join(
            f"headway {verb} {run.path}"
            for verb in (
                *cls.commands_for(config),
                *(["evaluate"] if config.make_task().metrics else []),
            )
        )
        raise ConfigError(
            f"headway {command} has no use for {run.path}, which was trained for task "
            f"{config.task!r}; try {fitting}"
        )


def trained_class(task: str) -> type[TrainedModel]:
    """The class of a task's trained models."""
    cls = task_class(task).trained_class
    if isinstance(cls, str):
        module, _, name = cls.partition(":")
        cls = getattr(import_module(module), name)
    return cast(type[TrainedModel], cls)


def trained_classes() -> dict[str, type[TrainedModel]]:
    """The class of every task, by task; imports all of them."""
    return {name: trained_class(name) for name in TASKS}


def _load_run(path: str | Path, device: str | None, weights: str | None) -> TrainedModel:
    run = RunDir.open(path)
    config = load_run_config(run)
    tensors, metadata = load_weights(run, weights)
    task = config.make_task().load_codecs(run.codecs)
    model = build_model(config.model, task.vocabularies)
    resized = FAMILIES[config.model.family].learns == "counting"  # buffers have their saved size
    set_weights(model, tensors, f"{run.path}/model.safetensors", resized)
    model = model.to(pick_device(device or config.device)).eval()
    return trained_class(config.task)(run, config, task, model, metadata)


def _check_compatible(first: TrainedModel, other: TrainedModel) -> None:
    """Refuses ensembles of different tasks, vocabularies or windows."""
    if first.config.task != other.config.task:
        raise RunError(
            f"{other.run.path} was trained for task {other.config.task!r} and {first.run.path} for "
            f"{first.config.task!r}; an ensemble has one task"
        )
    problem = first.task.ensemble_problem(other.task, (str(first.run.path), str(other.run.path)))
    if problem is not None:
        raise RunError(problem)

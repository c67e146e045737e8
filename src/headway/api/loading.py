"""`load`: from run directories to what was trained, each in the kind that its task has."""

from pathlib import Path
from typing import Any, TypeVar

from ..errors import ConfigError, RunError
from ..models import FAMILIES
from ..models.ensemble import Ensemble
from ..runs import RunDir
from ..runs.module import set_weights
from .answerer import Answerer
from .assembly import build
from .classifier import Classifier
from .config import stored_config
from .device import pick_device
from .language_model import LanguageModel
from .pretrained import Pretrained
from .regressor import Regressor
from .tagger import Tagger
from .trained import Member, Trained
from .translator import Translator

KINDS: dict[str, type[Trained]] = {
    "translate": Translator,
    "language": LanguageModel,
    "classify": Classifier,
    "tag": Tagger,
    "answer": Answerer,
    "regress": Regressor,
    "pretrain": Pretrained,
}
"""By task."""

Kind = TypeVar("Kind", bound=Trained)


def load(path: str | Path, *more: str | Path, device: str | None = None) -> Any:
    """The model of a run directory, ready to use; of several, their ensemble.

    It is a `Translator`, a `LanguageModel`, a `Classifier`, a `Tagger`, an `Answerer`, a
    `Regressor` or `Pretrained`, by the run's task. An ensemble takes the mean of its models'
    probabilities. Search settings that are not given are those of the first run.

    Args:
        device: in place of the one the run file names.

    Raises:
        RunError: a directory is no run, is damaged, has no weights yet, or has another task or
            vocabulary than the first.
    """
    first, *rest = [_opened(p, device) for p in (path, *more)]
    if not rest:
        return first
    for other in rest:
        _check_same(first, other)
    everyone = [first, *rest]
    return type(first)(
        first.run,
        first.config,
        first.task,
        Ensemble([one.model for one in everyone]).eval(),
        first.rule,
        [Member(one.run, one.rule) for one in rest],
        min(one.max_length for one in everyone),
    )


def load_for(
    command: str, kind: type[Kind], path: str | Path, *more: str | Path, device: str | None = None
) -> Kind:
    """The same for a command that is made for one kind.

    Raises:
        ConfigError: the run is of another kind.
    """
    check_kind(command, kind, path)
    model: Kind = load(path, *more, device=device)
    return model


def check_kind(
    command: str, kind: type[Trained] | tuple[type[Trained], ...], path: str | Path
) -> None:
    """Refuses a run that a command is not made for, naming the commands that are."""
    run = RunDir.open(path)
    config = stored_config(run)
    found = KINDS[config.task]
    if not issubclass(found, kind):
        fitting = " or ".join(
            f"headway {verb} {run.path}"
            for verb in (*(["evaluate"] if config.kind.metrics else []), *found.uses(config))
        )
        raise ConfigError(
            f"headway {command} has no use for {run.path}, which was trained for task "
            f"{config.task!r}; try {fitting}"
        )


def _opened(path: str | Path, device: str | None) -> Trained:
    run = RunDir.open(path)
    config = stored_config(run)
    tensors, metadata = run.load_weights()
    task = config.kind.load(run.codecs)
    model = build(config, task)
    resized = FAMILIES[config.model.family].learns == "counting"
    set_weights(model, tensors, f"{run.path}/model.safetensors", resized)
    model = model.to(pick_device(device or config.device)).eval()
    return KINDS[config.task](run, config, task, model, metadata)


def _check_same(first: Trained, other: Trained) -> None:
    if first.config.task != other.config.task:
        raise RunError(
            f"{other.run.path} was trained for task {other.config.task!r} and {first.run.path} for "
            f"{first.config.task!r}; an ensemble has one task"
        )
    for column in first.task.columns:
        if first.task.codecs[column].fingerprint() != other.task.codecs[column].fingerprint():
            raise RunError(
                f"{other.run.path} has another {column} vocabulary than {first.run.path}, and an "
                "ensemble needs one and the same; train both on the same data with the same "
                f"[text], or one with init = {str(first.run.path)!r}"
            )

"""Tasks: their columns, losses, predictions and metrics, and the table of all tasks."""

from typing import Any

from ..config.messages import did_you_mean
from ..data.config import DataConfig
from ..errors import ConfigError
from ..lazy_table import LazyTable
from .base import Task

TASKS: LazyTable[type[Task]] = LazyTable(
    __name__,
    {
        "translate": ".translate:Translate",
        "language": ".language_model:Language",
        "classify": ".classify:Classify",
        "tag": ".tag:Tag",
        "answer": ".answer:Answer",
        "regress": ".regress:Regress",
        "forecast": ".forecast:Forecast",
        "pretrain": ".pretrain.base:Pretrain",
    },
)
"""Tasks by name. A task names the class of its trained models (`Task.trained_class`)."""

OBJECTIVES: LazyTable[type[Task]] = LazyTable(
    __name__,
    {
        "masked": ".pretrain.masked_lm:Masked",
        "masked_next": ".pretrain.masked_lm:MaskedNext",
        "next": ".pretrain.masked_lm:Next",
        "bart": ".pretrain.denoising:Bart",
        "t5": ".pretrain.denoising:T5",
        "unilm": ".pretrain.unilm:Unilm",
        "none": ".pretrain.headless:Headless",
    },
)
"""The classes of `pretrain`, by objective."""


def task_class(name: str, objective: str | None = None) -> type[Task]:
    """The class of a task, or of its objective if it has several.

    Raises:
        ConfigError: there is no such task.
    """
    if name not in TASKS:
        hint = did_you_mean(name, TASKS)
        raise ConfigError(f"task = {name!r}: expected one of {', '.join(TASKS)}{hint}")
    return TASKS[name] if objective is None else OBJECTIVES[objective]


def task_meanings() -> dict[str, str]:
    """The meaning of each task in one line."""
    docs = {name: task.__doc__ or "" for name, task in TASKS.items()}
    return {
        name: doc.partition("\n")[0].partition(";")[0].rstrip(".") for name, doc in docs.items()
    }


def make_task(name: str, config: Any = None, max_length: int = DataConfig.max_length) -> Task:
    """A task without codecs.

    Args:
        config: its own settings. Default: their defaults.
        max_length: the longest input in tokens.

    Raises:
        ConfigError: there is no such task, or it does not name the class of its trained models.
    """
    if config is None and (default := task_class(name).config_class) is not None:
        config = default()
    cls = task_class(name, getattr(config, "objective", None))
    if not hasattr(cls, "trained_class"):  # refused now, not after hours of training
        raise ConfigError(
            f"task {name!r} has no trained_class, so its runs could not be loaded; name the "
            f"TrainedModel of its runs in {cls.__name__}"
        )
    return cls(config, max_length)

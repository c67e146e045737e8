"""What a model is trained for: columns, loss, prediction, metrics; and the table of tasks."""

from typing import Any

from .bare import Bare
from .classify import Classify
from .denoise import T5, Bart
from .language import Language
from .masked import Masked, MaskedNext, Next
from .objectives import CONFIGS
from .pretrain import Pretrain
from .task import Task
from .translate import Translate

TASKS: dict[str, type[Task]] = {
    task.name: task for task in (Translate, Language, Classify, Pretrain)
}

OBJECTIVES: dict[str, type[Pretrain]] = {
    "masked": Masked,
    "masked_next": MaskedNext,
    "next": Next,
    "bart": Bart,
    "t5": T5,
    "none": Bare,
}
"""The kinds of `pretrain`, by objective."""


def kind_of(task: str, pretrain: Any) -> type[Task]:
    """The task of a run file.

    Args:
        pretrain: the settings of its objective, where it has one.
    """
    if task != Pretrain.name:
        return TASKS[task]
    return OBJECTIVES[pretrain.objective].settled(pretrain)


__all__ = [
    "CONFIGS",
    "OBJECTIVES",
    "TASKS",
    "Classify",
    "Language",
    "Pretrain",
    "Task",
    "Translate",
    "kind_of",
]

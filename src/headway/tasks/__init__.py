"""What a model is trained for: columns, loss, prediction, metrics; and the table of tasks."""

from typing import Any

from ..data.corpora import DataConfig
from .answer import Answer, AnswerConfig
from .bare import Bare
from .classify import Classify
from .denoise import T5, Bart
from .language import Language
from .masked import Masked, MaskedNext, Next
from .objectives import CONFIGS
from .pretrain import Pretrain
from .regress import Regress
from .tag import Tag
from .task import Task
from .translate import Translate
from .unilm import Unilm

TASKS: dict[str, type[Task]] = {
    task.name: task for task in (Translate, Language, Classify, Tag, Answer, Regress, Pretrain)
}

OBJECTIVES: dict[str, type[Pretrain]] = {
    "masked": Masked,
    "masked_next": MaskedNext,
    "next": Next,
    "bart": Bart,
    "t5": T5,
    "unilm": Unilm,
    "none": Bare,
}
"""The kinds of `pretrain`, by objective."""


def kind_of(
    task: str,
    pretrain: Any = None,
    answer: AnswerConfig | None = None,
    max_length: int = DataConfig.max_length,
) -> type[Task]:
    """The task of a run file, with the settings that it has of its own.

    Args:
        pretrain: those of its objective, where it has one.
        answer: how answers are looked for, where they are.
        max_length: tokens that are read at once.
    """
    if task == Pretrain.name:
        return OBJECTIVES[pretrain.objective].settled(pretrain)
    if task == Answer.name:
        return Answer.settled(answer or AnswerConfig(), max_length)
    return TASKS[task]


__all__ = [
    "CONFIGS",
    "OBJECTIVES",
    "TASKS",
    "Answer",
    "AnswerConfig",
    "Classify",
    "Language",
    "Pretrain",
    "Regress",
    "Tag",
    "Task",
    "Translate",
    "kind_of",
]

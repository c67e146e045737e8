"""What a model is trained for: columns, loss, prediction, metrics; and the table of tasks."""

from .answer import Answer, AnswerConfig
from .classify import Classify
from .language import Language
from .regress import Regress
from .tag import Tag
from .task import Task
from .translate import Translate

TASKS: dict[str, type[Task]] = {
    task.name: task for task in (Translate, Language, Classify, Tag, Answer, Regress)
}

__all__ = [
    "TASKS",
    "Answer",
    "AnswerConfig",
    "Classify",
    "Language",
    "Regress",
    "Tag",
    "Task",
    "Translate",
]

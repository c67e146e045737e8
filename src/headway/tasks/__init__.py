"""What a model is trained for: columns, loss, prediction, metrics; and the table of tasks."""

from .classify import Classify
from .language import Language
from .regress import Regress
from .task import Task
from .translate import Translate

TASKS: dict[str, type[Task]] = {
    task.name: task for task in (Translate, Language, Classify, Regress)
}

__all__ = ["TASKS", "Classify", "Language", "Regress", "Task", "Translate"]

"""What a model is trained for: columns, loss, prediction, metrics; and the table of tasks."""

from .language import Language
from .task import Task
from .translate import Translate

TASKS: dict[str, type[Task]] = {task.name: task for task in (Translate, Language)}

__all__ = ["TASKS", "Language", "Task", "Translate"]

"""What a model is trained for: columns, loss, prediction, metrics; and the table of tasks."""

from .translate import Translate

TASKS: dict[str, type[Translate]] = {task.name: task for task in (Translate,)}

__all__ = ["TASKS", "Translate"]

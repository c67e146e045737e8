"""A served run and its training log, which can be read before there are weights."""

import sys
from typing import Any

from ..errors import RunError
from ..inspection.serialize import plain
from ..run_config import RunConfig
from ..runs import RunDir
from ..view.training_log import training_rows
from .engine import Verb
from .workers import WorkerError


class ServedRun:
    """A run that may still be in training.

    Attributes:
        verbs: the paths that accept it; none before it has weights.
    """

    def __init__(self, name: str, run: RunDir, config: RunConfig) -> None:
        self.name, self.run, self.config = name, run, config
        self.verbs: tuple[Verb, ...] = ()

    def info(self) -> dict[str, Any]:
        """Facts about the run, as `schema.ModelInfo`."""
        return {
            "name": self.name,
            "task": self.config.task,
            "family": self.config.model.family,
            "parameters": None,
            "max_length": self.config.data.max_length,
            "verbs": list(self.verbs),
            "engine": "headway",
            "attends": False,
            "search": None,
            "inputs": None,
            "example": None,
        }

    def training(self) -> list[Any]:
        """The rows of the current log that a page can draw; none before there is a log.

        Raises:
            WorkerError: the log is damaged.
        """
        try:
            records = self.run.log.read()
        except RunError as error:  # nothing that a client could fix
            print(f"headway: error: {error}", file=sys.stderr, flush=True)
            raise WorkerError(str(error)) from error
        rows: list[Any] = plain(training_rows(records))
        return rows

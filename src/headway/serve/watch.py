"""A run as its directory tells of it: enough to follow its training before there are weights."""

import sys
from typing import Any

from ..api.background import training_rows
from ..api.config import RunConfig
from ..api.packing import plain
from ..errors import RunError
from ..runs import RunDir
from .engine import Verb
from .pool import Failed


class Watch:
    """A run that may be in progress.

    Attributes:
        verbs: what may be asked of it; nothing before it can be loaded.
    """

    def __init__(self, name: str, run: RunDir, config: RunConfig) -> None:
        self.name, self.run, self.config = name, run, config
        self.verbs: tuple[Verb, ...] = ()

    def info(self) -> dict[str, Any]:
        """What a client may know of the run, as `schema.ModelInfo`."""
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
        }

    def training(self) -> list[Any]:
        """What can be drawn of the log as it is now; nothing before there is one.

        Raises:
            Failed: the log is damaged.
        """
        try:
            records = self.run.log.read()
        except RunError as error:  # nothing that a client could mend
            print(f"headway: error: {error}", file=sys.stderr, flush=True)
            raise Failed(str(error)) from error
        rows: list[Any] = plain(training_rows(records))
        return rows

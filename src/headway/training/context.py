"""`TrainingContext`: directory, run file, processes and notes that all steps of a run share."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import torch

from ..data.config import Corpus, as_corpora
from ..data.formats import Note
from ..device import pick_device
from ..errors import RunError
from ..run_config import RunConfig
from ..runs import RunDir
from .distributed import Processes
from .progress import Display


@dataclass
class TrainingContext:
    """One session of a run, from its start or from a checkpoint.

    Attributes:
        config: the run file as written, not resolved.
        group: the processes that train together.
        examples: number of examples of each prepared set.
        notes: notes about the data and about the settings chosen, by heading.
        noted: what was found in the rows of the sets so far.
    """

    run: RunDir
    config: RunConfig
    group: Processes
    display: Display
    examples: dict[str, int] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=lambda: {"Data": [], "Settings": []})
    noted: set[Note] = field(default_factory=set)

    @cached_property
    def device(self) -> torch.device:
        return pick_device(self.config.device)

    @property
    def root(self) -> Path:
        """The folder that relative data files start from."""
        return Path(self.config.data.root or ".")

    def corpora(self, key: str) -> tuple[Corpus, ...]:
        """The corpora of a set: `train`, `valid` or `test`."""
        return as_corpora(getattr(self.config.data, key), f"data.{key}")

    def note(self, heading: str, text: str) -> None:
        """Shows a line now and keeps it for the log."""
        self.display.note(text)
        self.notes[heading].append(text)

    def log_start(self, step: int) -> None:
        """Logs the numbers of examples and the notes of this session."""
        if self.group.is_first:
            self.run.log.append({"step": step, "examples": self.examples, "notes": self.notes})

    def log_end(self, step: int) -> None:
        """Logs that the run is finished."""
        if self.group.is_first:
            self.run.log.finish(step)

    def is_finished(self) -> bool:
        """Whether the log says that the run is finished; a damaged one does not."""
        try:
            records = self.run.log.read()
        except RunError:
            return False
        return bool(records) and records[-1].get("finished") is True

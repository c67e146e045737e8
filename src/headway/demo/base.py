"""`Demo`: what the demos have in common, and what they show at the end.

`demo.py` trains them; `text_demos.py` and `forecast_demo.py` score and use the model.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ..metrics.score import Score
from ..run_config import RunConfig
from ..view.report import Command, Sample


@dataclass(frozen=True)
class DemoFindings:
    """Scores and samples of a trained demo.

    Attributes:
        scores: description of the test set -> metric -> score.
        metrics: the same scores under one name each (`exact`, `exact_unseen_languages`).
        rows: the showcase.
        remarks: lines about the showcase.
        warnings: lines about the scores.
    """

    scores: dict[str, dict[str, Score]]
    metrics: dict[str, Score]
    rows: list[Sample]
    remarks: Sequence[str]
    warnings: Sequence[str] = ()


@dataclass(frozen=True)
class Demo(ABC):
    """A demo: data and settings, and the use of the model.

    Attributes:
        unit: of the scores.
        config: the settings; file names are relative to the folder that `write` fills.
    """

    unit: ClassVar[str] = "%"

    name: str
    title: str
    about: str
    config: RunConfig
    write: Callable[[Path], object]

    @abstractmethod
    def examine(self, model: Any) -> DemoFindings:
        """Scores the model on the test sets and uses it on the showcase."""

    @abstractmethod
    def commands(self, run: Path, rows: Sequence[Sample]) -> list[Command]:
        """Suggested next commands."""

"""What trained runs of every task have: where they come from, their model and their settings.

Each task has its own kind, with what can be done with it; `loading.py` chooses by the run file.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from .. import config as configs
from ..errors import ConfigError
from ..models.ensemble import Ensemble
from ..runs import RunDir
from ..search import SearchConfig
from ..tasks.validation import device_of
from ..view.report import Picture, Sample
from .background import background
from .config import RunConfig
from .inspection import Background, Inspection
from .page import Page

Logged = tuple[str, str, str]
"""Source, output and reference of a sample in the log."""


@dataclass(frozen=True)
class Member:
    """One run of an ensemble, and how its weights were chosen."""

    run: RunDir
    rule: dict[str, str]


class Trained:
    """A model with its codecs, made by `headway.load`.

    Attributes:
        commands: the verbs of the command line that use such a run, beside `evaluate`, with what is
            typed behind the run; what it is for comes first.
        config: the run file as resolved; of an ensemble, that of the first run.
        rule: how the weights were chosen.
        others: the further runs of an ensemble.
        max_length: of an input, its end counted.
        inspect: what the model does with a text, all of it.
    """

    commands: ClassVar[Mapping[str, str]]
    inspect: Callable[..., Inspection]

    def __init__(
        self,
        run: RunDir,
        config: RunConfig,
        task: Any,
        model: Any,
        rule: Mapping[str, str],
        others: Sequence[Member] = (),
        max_length: int | None = None,
    ) -> None:
        self.run, self.config, self.task, self.model = run, config, task, model
        self.rule = dict(rule)
        self.others = tuple(others)
        self.max_length = max_length or config.data.max_length

    @classmethod
    def uses(cls, config: RunConfig) -> Mapping[str, str]:
        """The commands for one run of this kind."""
        return cls.commands

    @property
    def n_parameters(self) -> int:
        """Numbers that were learned or counted."""
        tensors = [*self.model.parameters(), *self.model.buffers()]
        return sum(tensor.numel() for tensor in tensors)

    def only_model(self, what: str) -> Any:
        """The model of a single run, for what an ensemble cannot be used for.

        Args:
            what: needs it; messages begin so.
        """
        if isinstance(self.model, Ensemble):
            names = ", ".join(str(run.path) for run in (self.run, *(o.run for o in self.others)))
            raise ConfigError(f"{what} takes one run, not an ensemble ({names}); name one")
        return self.model

    @abstractmethod
    def length(self, given: Any, place: str, remedy: str) -> int:
        """Tokens of an input as the model reads it.

        Args:
            place: what messages call the input.
            remedy: what its user can do if there are too many.

        Raises:
            DataError: there are, or it is no input of this model.
        """

    def view(self, text: Any, **options: Any) -> Page:
        """`inspect` as a page: a notebook shows it, `save` writes it."""
        return self.inspect(text, **options).view()

    def background(self) -> Background:
        """What a page shows of the run beside a text."""
        return background(self.run, self.config, self.model, self.n_parameters, self.rule)

    def search_config(self, **changes: Any) -> SearchConfig:
        """The run's search settings with changes; None leaves a setting as it is.

        Raises:
            ConfigError: a setting does not exist or does not fit.
        """
        given = {name: value for name, value in changes.items() if value is not None}
        tables = {**configs.to_dict(self.config.search), **given}
        return configs.parse(tables, SearchConfig, "search")

    def to_device(self, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The batch where the model computes."""
        device = device_of(self.model)
        return {name: value.to(device) for name, value in batch.items()}

    def shown(self, rows: Sequence[Logged]) -> list[Sample]:
        """Samples of the last validation for the report, put to the weights that were kept."""
        return [Sample(source, output, expected) for source, output, expected in rows]

    def picture(self, sample: Sample) -> Picture | None:
        """What the model looks at in a sample, if it can be shown."""
        return None

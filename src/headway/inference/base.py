"""`TrainedModel`: run directory, model and settings of a trained run, whatever its task.

Each task has a subclass with its own methods. Commands, the server and comparisons use the
interface declared here; `load.py` picks the class.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch

from .. import config as configs
from ..data.config import Corpus
from ..errors import ConfigError
from ..inspection.html_page import Page
from ..inspection.inspection import Inspection, RunSummary
from ..inspection.report import CommandUse
from ..inspection.run_summary import summarize_run
from ..models import FAMILIES
from ..models.ensemble import Ensemble
from ..run_config import RunConfig
from ..runs import RunDir
from ..search import SearchConfig
from ..tasks.base import device_of
from ..view.report import Picture, Sample
from .evaluation import EvaluationOptions, EvaluationReport, TimedEvaluation

Logged = tuple[str, str, str]
"""Source, output and reference of a sample in the log."""
TooLong = Literal["refuse", "cut"]
"""What happens to an input that is longer than the model reads."""
CUT = 'shorten it, or have it cut off (`too_long="cut"`)'
"""The remedy for a text that is too long."""


def location_of(index: int, locations: Sequence[str] | None, noun: str = "text") -> str:
    """The name of an input in messages: its own such as `news.en:7`, or `text 7`."""
    return f"{noun} {index + 1}" if locations is None else locations[index]


@dataclass(frozen=True)
class EnsembleMember:
    """One run of an ensemble, and how its weights were chosen."""

    run: RunDir
    weights_info: dict[str, str]


class TrainedModel:
    """A model with its codecs, made by `headway.load`.

    Attributes:
        commands: the commands that use such a run, besides `evaluate`; its main purpose first.
        scored_inputs: the inputs of `score`, texts or pairs of texts; None without `score`.
        has_search: whether outputs are searched for an input, with settings and constraints;
            `inspect` then takes a `TranslationRequest`.
        forecasts_windows: whether it continues series, so that `inspect` takes a window of one.
        evaluation_options: the `EvaluationOptions` that `evaluate_corpora` takes, and `outputs` if
            it decodes outputs.
        columns_as_trained: whether a test file without column names has the columns of the
            training data.
        scores_by_length: whether `time_evaluation` scores parts of a test set.
        config: the resolved run file; for an ensemble, that of the first run.
        weights_info: how the weights were chosen.
        ensemble_members: the runs of an ensemble after the first.
        max_length: largest number of tokens of an input, end token included.
        inspect: the `Inspection` of one input.
    """

    commands: ClassVar[Mapping[str, CommandUse]]
    scored_inputs: ClassVar[Literal["texts", "pairs"] | None] = None
    has_search: ClassVar[bool] = False
    forecasts_windows: ClassVar[bool] = False
    evaluation_options: ClassVar[frozenset[str]] = frozenset()
    columns_as_trained: ClassVar[bool] = True
    scores_by_length: ClassVar[bool] = False
    inspect: Callable[..., Inspection]

    def __init__(
        self,
        run: RunDir,
        config: RunConfig,
        task: Any,
        model: Any,
        rule: Mapping[str, str],
        others: Sequence[EnsembleMember] = (),
        max_length: int | None = None,
    ) -> None:
        self.run, self.config, self.task, self.model = run, config, task, model
        self.weights_info = dict(rule)
        self.ensemble_members = tuple(others)
        self.max_length = max_length or config.data.max_length

    def __repr__(self) -> str:
        runs = [self.run, *(member.run for member in self.ensemble_members)]
        paths = ", ".join(repr(str(run.path)) for run in runs)
        size = f"{self.n_parameters:,} parameters"
        return f"<{type(self).__name__} of {paths}: {self.config.model_name}, {size}>"

    @classmethod
    def commands_for(cls, config: RunConfig) -> Mapping[str, CommandUse]:
        """The commands for one run of this class."""
        return cls.commands

    @classmethod
    def verbs_for(cls, config: RunConfig) -> set[str]:
        """The requests that a server takes for a run.

        They are its commands, `inspect`, and `embed` if the model is an encoder.
        """
        encodes = "read" in FAMILIES[config.model.family].abilities
        return {*cls.commands_for(config), "inspect", *(["embed"] if encodes else [])}

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the texts in an input."""
        return ("text",)

    def public_info(self) -> dict[str, Any]:
        """Facts that a server gives its clients about the model, as plain data."""
        return {}

    @abstractmethod
    def evaluate_corpora(
        self, corpora: Sequence[Corpus], root: Path, options: EvaluationOptions
    ) -> EvaluationReport:
        """Scores of a test set.

        Args:
            root: the folder that relative file names start from.

        Raises:
            ConfigError: a metric or setting does not exist.
            DataError: a file is missing, or an input is too long.
        """

    @abstractmethod
    def time_evaluation(
        self, corpora: Sequence[Corpus], root: Path, metric: str, tokenized: bool
    ) -> TimedEvaluation:
        """The score of a test set by one metric, and the speed. Long inputs are cut or split."""

    def check_metrics(self, names: Sequence[str]) -> None:
        """Refuses metrics that the task does not have.

        Raises:
            ConfigError: naming the first of them.
        """
        for name in names:
            self.task.find_metric(name)

    @property
    def n_parameters(self) -> int:
        """Number of weights, learned or counted."""
        tensors = [*self.model.parameters(), *self.model.buffers()]
        return sum(tensor.numel() for tensor in tensors)

    def single_model(self, what: str) -> Any:
        """The model of a single run.

        Args:
            what: the use that an ensemble does not support; messages begin with it.

        Raises:
            ConfigError: this is an ensemble.
        """
        if isinstance(self.model, Ensemble):
            names = ", ".join(
                str(run.path) for run in (self.run, *(o.run for o in self.ensemble_members))
            )
            raise ConfigError(f"{what} takes one run, not an ensemble ({names}); name one")
        return self.model

    @abstractmethod
    def length(self, text: Any, location: str, remedy: str) -> int:
        """Number of tokens of an input, special tokens included.

        Args:
            location: name of the input in messages.
            remedy: advice for an input that is too long.

        Raises:
            DataError: the input is too long, or the model does not take such an input.
        """

    def view(self, text: Any, **options: Any) -> Page:
        """The page of `inspect`; a notebook shows it, `save` writes it."""
        return self.inspect(text, **options).view()

    def background(self) -> RunSummary:
        """The part of an inspection that does not depend on the text."""
        return summarize_run(
            self.run, self.config, self.model, self.n_parameters, self.weights_info
        )

    def search_config(self, **changes: Any) -> SearchConfig:
        """The run's search settings with changes; None leaves a setting as it is.

        Raises:
            ConfigError: a setting does not exist or does not fit.
        """
        changed = {name: value for name, value in changes.items() if value is not None}
        tables = {**configs.to_dict(self.config.search), **changed}
        return configs.parse(tables, SearchConfig, "search")

    def to_device(self, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The batch on the device of the model."""
        device = device_of(self.model)
        return {name: value.to(device) for name, value in batch.items()}

    def example(self) -> list[str] | None:
        """An input of the run's own data, one text for each of its inputs, if it is to be read."""
        return None

    def report_samples(self, rows: Sequence[Logged]) -> list[Sample]:
        """Samples of the last validation for the report, predicted anew with the kept weights."""
        return [Sample(source, output, expected) for source, output, expected in rows]

    def report_forecasts(self) -> list[Mapping[str, Any]]:
        """Windows of series that the report shows, as plain data."""
        return []

    def picture(self, sample: Sample) -> Picture | None:
        """The attention of a sample, if there is some to show."""
        return None

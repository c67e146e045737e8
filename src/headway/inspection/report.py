"""Writes `report.html` of a run directory, finished or not, from its log and its model.

`view/report.py` draws the page; test scores and chosen samples come from the caller.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from ..metrics.score import Score
from ..run_config import RunConfig, load_run_config
from ..runs import RunDir
from ..runs.directory import WEIGHTS
from ..view.report import Command, History, Moment, Picture, ReportData, Sample, report
from .run_summary import duration, last_logged, summary_rows

REPORT = "report.html"

Records = list[dict[str, Any]]


@dataclass(frozen=True)
class CommandUse:
    """How a command uses a run.

    Attributes:
        arguments: the arguments after the run directory.
        purpose: a sentence on its effect.
    """

    arguments: str
    purpose: str


class ReportedModel(Protocol):
    """The interface of a trained model that the report uses."""

    weights_info: dict[str, str]

    @property
    def n_parameters(self) -> int: ...

    def commands_for(self, config: RunConfig) -> Mapping[str, CommandUse]:
        """The commands that use the run, the most important first."""

    def report_samples(self, rows: Sequence[tuple[str, str, str]]) -> list[Sample]:
        """The samples of the last validation, predicted anew with the kept weights."""

    def picture(self, sample: Sample) -> Picture | None:
        """The attention of a sample, if there is some to show."""

    def report_forecasts(self) -> list[Mapping[str, Any]]:
        """Windows of series with their forecasts, for a model of series."""


def write_report(
    run: str | Path,
    model: ReportedModel | None,
    *,
    title: str | None = None,
    subtitle: str | None = None,
    scores: Mapping[str, Sequence[Score]] | None = None,
    samples: Sequence[Sample] | None = None,
    commands: Sequence[Command] | None = None,
) -> Path:
    """Writes the report page of a run and returns its path.

    Args:
        model: the loaded run; None if it has no weights yet.
        scores: lists of scores by the name of their test set, such as "Test set, 1,000 dates".
        samples: replace the samples of the last validation; the attention picture is of the first.
        commands: replace the usual commands.

    Raises:
        RunError: the directory is no run, is damaged, or has another writer.
    """
    directory = RunDir.open(run)
    config, records = load_run_config(directory), directory.log.read()
    chosen = list(samples) if samples is not None else _last_samples(records, model)
    if commands is None:
        uses = model.commands_for(config) if model is not None else {}
        commands = usual_commands(directory, config, records, uses)
    data = ReportData(
        title=title or directory.path.resolve().name,
        subtitle=subtitle or _progress(config, records),
        facts=dict(
            summary_rows(config, records, model.n_parameters, model.weights_info)
            if model is not None
            else summary_rows(config, records, None, None)
        ),
        machine=_machine(directory),
        scores=scores or {},
        records=records,
        metrics=_metrics(config),
        samples=chosen,
        histories=_histories(records),
        pictures=_pictures(model, chosen),
        forecasts=model.report_forecasts() if model is not None else [],
        notes=_notes(records),
        commands=commands,
    )
    with directory.lock():
        directory.write_text(REPORT, report(data))
    return directory.path / REPORT


def usual_commands(
    run: RunDir, config: RunConfig, records: Records, uses: Mapping[str, CommandUse]
) -> list[Command]:
    """The commands to try next, by the state of the run.

    Args:
        uses: the commands that use the run, the most important first.
    """
    path = shlex.quote(str(run.path))
    commands = []
    if not _is_finished(records):
        commands.append(Command(f"headway resume {path}", "Continue exactly where it stopped."))
    if (run.path / WEIGHTS).exists():
        for verb, use in islice(uses.items(), 1):
            commands.append(Command(f"headway {verb} {path} {use.arguments}", use.purpose))
        option = "" if config.data.test else " --data FILE"
        purpose = "Score it on its test data." if not option else "Score it on data of your own."
        commands.append(Command(f"headway evaluate {path}{option}", purpose))
    return [*commands, Command(f"headway info {path}", "Show the contents of the run directory.")]


def _is_finished(records: Records) -> bool:
    return bool(records) and records[-1].get("finished") is True


def _progress(config: RunConfig, records: Records) -> str:
    """The training time, or the last step of a run that is not finished."""
    step, total = last_logged(records, "step", 0), config.train.steps
    if _is_finished(records):
        return f"Trained for {duration(last_logged(records, 'minutes', 0.0))}."
    planned = f" of {total:,}" if total else ""
    return f"Not finished: the log ends at step {step:,}{planned}."


def _machine(run: RunDir) -> dict[str, str]:
    names = {
        "device": "Device",
        "threads": "Threads",
        "machine": "Machine",
        "processes": "Processes",
        "torch": "PyTorch",
    }
    known = {label: str(run.facts[key]) for key, label in names.items() if key in run.facts}
    return known | {"headway": run.version}


def _metrics(config: RunConfig) -> dict[str, str]:
    """The metric of the validations; if that is the loss, the first other metric of the task."""
    task = config.make_task()
    metric = task.metric(config.train.metric)
    if metric == "loss":
        metric = next(name for name in task.validated if name != "loss")
    return {metric: task.metric_table[metric].label}


def _last_samples(records: Records, model: ReportedModel | None) -> list[Sample]:
    """Samples of the last validation, predicted anew if there are weights."""
    rows = last_logged(records, "samples", [])
    if model is None or not rows:
        return [Sample(source, output, expected) for source, output, expected in rows]
    return model.report_samples(rows)


def _histories(records: Records) -> list[History]:
    """The outputs of each validation sample during training, at the steps where they changed."""
    moments: dict[tuple[str, str], list[Moment]] = {}
    for record in records:
        for source, output, expected in record.get("samples", []):
            outputs = moments.setdefault((source, expected), [])
            if not outputs or outputs[-1].output != output:
                outputs.append(Moment(record["step"], output, record.get("minutes")))
    return [History(source, outputs, expected) for (source, expected), outputs in moments.items()]


def _pictures(model: ReportedModel | None, samples: Sequence[Sample]) -> list[Picture]:
    """The attention of the first sample that has some to show."""
    pictures = (model.picture(sample) for sample in samples) if model is not None else iter(())
    picture = next((picture for picture in pictures if picture is not None), None)
    return [] if picture is None else [picture]


def _notes(records: Records) -> dict[str, list[str]]:
    notes: dict[str, list[str]] = last_logged(records, "notes", {})
    return notes

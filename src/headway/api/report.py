"""`report.html` of a run directory: gathers what a run left behind, finished or not.

How it looks is `view.report`; test scores and samples of choice come from the caller.
"""

import shlex
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from ..metrics.score import Score
from ..runs import RunDir
from ..runs.directory import WEIGHTS
from ..view.report import Command, History, Moment, Picture, ReportData, Sample, report
from .background import duration, facts, newest
from .config import RunConfig, stored_config
from .loading import KINDS, load
from .trained import Trained

REPORT = "report.html"
METRICS = {
    "chrf": "chrF",
    "exact": "Exact match",
    "perplexity": "Perplexity",
    "accuracy": "Accuracy",
    "macro_f1": "Macro F1",
    "entity_f1": "Entity F1",
    "strict_f1": "Strict F1",
    "precision": "Precision",
    "recall": "Recall",
    "spearman": "Spearman",
    "pearson": "Pearson",
    "masked_accuracy": "Masked words",
    "next_accuracy": "Next sentences",
    "token_accuracy": "Tokens",
}
"""The others are abbreviations."""
PURPOSES = {
    "translate": "Use it; without FILE, type.",
    "predict": "Use it on lines; without FILE, type.",
    "generate": "Go on with a text of your own.",
    "fill": "Find words for gaps.",
    "embed": "Make vectors of lines.",
    "score": "Log probabilities of lines of your own.",
}

Records = list[dict[str, Any]]


def write_report(
    run: str | Path,
    *,
    title: str | None = None,
    subtitle: str | None = None,
    scores: Mapping[str, Sequence[Score]] | None = None,
    samples: Sequence[Sample] | None = None,
    commands: Sequence[Command] | None = None,
) -> Path:
    """Writes the report page of a run and returns its path.

    Args:
        scores: what was scored ("Test set, 1,000 dates") -> its figures.
        samples: shown in place of those of the last validation; the attention picture is of the
            first.
        commands: shown in place of the usual ones.

    Raises:
        RunError: the directory is no run, is damaged, or is being written to.
    """
    directory = RunDir.open(run)
    config, records = stored_config(directory), directory.log.read()
    model = load(run) if (directory.path / WEIGHTS).exists() else None
    shown = list(samples) if samples is not None else _last_samples(records, model)
    data = ReportData(
        title=title or directory.path.resolve().name,
        subtitle=subtitle or _standing(config, records),
        facts=dict(
            facts(config, records, model.n_parameters, model.rule)
            if model is not None
            else facts(config, records, None, None)
        ),
        machine=_machine(directory),
        scores=scores or {},
        records=records,
        metrics=_metrics(config),
        samples=shown,
        histories=_histories(records),
        pictures=_pictures(model, shown),
        notes=_notes(records),
        commands=usual_commands(directory, config, records) if commands is None else commands,
    )
    with directory.lock():
        directory.write_text(REPORT, report(data))
    return directory.path / REPORT


def usual_commands(run: RunDir, config: RunConfig, records: Records) -> list[Command]:
    """What to type next, by what the run has reached."""
    path = shlex.quote(str(run.path))
    commands = []
    if not _is_finished(records):
        commands.append(Command(f"headway resume {path}", "Go on exactly where it stopped."))
    if (run.path / WEIGHTS).exists():
        for verb, arguments in islice(KINDS[config.task].uses(config).items(), 1):
            commands.append(Command(f"headway {verb} {path} {arguments}", PURPOSES[verb]))
        where = "" if config.data.test is not None else " --data FILE"
        purpose = "Score it on its test data." if not where else "Score it on data of your own."
        commands.append(Command(f"headway evaluate {path}{where}", purpose))
    return [*commands, Command(f"headway info {path}", "What is in the run directory.")]


def _is_finished(records: Records) -> bool:
    return bool(records) and records[-1].get("finished") is True


def _standing(config: RunConfig, records: Records) -> str:
    step, total = newest(records, "step", 0), config.train.steps
    if _is_finished(records):
        return f"Trained for {duration(newest(records, 'minutes', 0.0))}."
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
    """The metric that validations are judged by; beside a loss, the task's own choice."""
    task = config.kind
    metric = task.metric(config.train.metric)
    if metric == "loss":
        metric = next(name for name in task.validated if name != "loss")
    return {metric: METRICS.get(metric, metric.upper())}


def _last_samples(records: Records, model: Trained | None) -> list[Sample]:
    """What the last validation showed, put to the weights that were kept if there are any."""
    rows = newest(records, "samples", [])
    if model is None or not rows:
        return [Sample(source, output, expected) for source, output, expected in rows]
    return model.shown(rows)


def _histories(records: Records) -> list[History]:
    """Each validation sample through training, at the moments when its output changed."""
    moments: dict[tuple[str, str], list[Moment]] = {}
    for record in records:
        for source, output, expected in record.get("samples", []):
            so_far = moments.setdefault((source, expected), [])
            if not so_far or so_far[-1].output != output:
                so_far.append(Moment(record["step"], output, record.get("minutes")))
    return [History(source, found, expected) for (source, expected), found in moments.items()]


def _pictures(model: Trained | None, samples: Sequence[Sample]) -> list[Picture]:
    """Of the first sample that can be shown."""
    found = (model.picture(sample) for sample in samples) if model is not None else iter(())
    picture = next((picture for picture in found if picture is not None), None)
    return [] if picture is None else [picture]


def _notes(records: Records) -> dict[str, list[str]]:
    notes: dict[str, list[str]] = newest(records, "notes", {})
    return notes

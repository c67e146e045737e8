"""The report of `evaluate` for all tasks: metrics with their intervals, and the weights."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..options import writing

if TYPE_CHECKING:
    from ...inference.base import EnsembleMember, TrainedModel
    from ...inference.evaluation import EvaluationReport
    from ...metrics.score import Score


def weights_record(trained: "TrainedModel") -> dict[str, Any]:
    """The weights that were evaluated: `weights`, and `with` for further runs of an ensemble."""
    record: dict[str, Any] = {"weights": _rule(trained)}
    if trained.ensemble_members:
        record["with"] = [
            {"run": str(member.run.path), **_rule(member)} for member in trained.ensemble_members
        ]
    return record


def _rule(trained: "TrainedModel | EnsembleMember") -> dict[str, Any]:
    return {"rule": trained.weights_info["rule"], "step": int(trained.weights_info["step"])}


def report_lines(report: "EvaluationReport", record: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a report; `record` has the weights of a `weights_record`."""
    yield from metric_lines(report.scores, report.digits)
    yield from report.notes
    yield ""
    yield from weight_lines(report.summary, record)
    yield from report.remarks


def metric_lines(scores: "Mapping[str, Score]", digits: int = 2) -> Iterator[str]:
    """An aligned table; `digits` is the number of decimals."""
    name = max([12, *(len(score.name) for score in scores.values())])
    value, between = 5 + digits, 12 + 2 * digits
    yield f"{'metric':{name}} {'value':>{value}}  {'95% interval':{between}}  signature"
    for score in scores.values():
        interval = ""
        if score.low is not None:
            interval = f"[{score.low:.{digits}f}, {score.high:.{digits}f}]"
        figures = f"{score.value:{value}.{digits}f}  {interval:{between}}"
        yield f"{score.name:{name}} {figures}  {score.signature}"


def weight_lines(what: str, record: Mapping[str, Any]) -> Iterator[str]:
    """A line with the summary `what` and the weights, and a line for each further run."""
    yield f"{what}; {_weights(record['weights'])}"
    for other in record.get("with", []):
        yield f"with {other['run']}; {_weights(other)}"


def _weights(rule: Mapping[str, Any]) -> str:
    return f"weights: {rule['rule']}, step {rule['step']}"


def write_outputs(path: Path | None, lines: Iterable[str]) -> None:
    """Writes the file of `--outputs`, if it is set."""
    if path is not None:
        with writing("--outputs", path):
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

"""What `evaluate` says of every task alike: metrics with their intervals, and of which weights."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..options import writing

if TYPE_CHECKING:
    from ...inference.base import EnsembleMember, TrainedModel
    from ...inference.evaluation import EvaluationReport
    from ...metrics.score import Score


def weights_record(trained: "TrainedModel") -> dict[str, Any]:
    """Which weights figures are of: `weights`, and `with` for those of further runs."""
    record: dict[str, Any] = {"weights": _rule(trained)}
    if trained.ensemble_members:
        record["with"] = [
            {"run": str(one.run.path), **_rule(one)} for one in trained.ensemble_members
        ]
    return record


def _rule(trained: "TrainedModel | EnsembleMember") -> dict[str, Any]:
    return {"rule": trained.weights_info["rule"], "step": int(trained.weights_info["step"])}


def report_lines(report: "EvaluationReport", record: Mapping[str, Any]) -> Iterator[str]:
    """A report as a person reads it; `record` has the weights of a `weights_record`."""
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
    """What the figures are of, in words, and the weights of a `weights_record`."""
    yield f"{what}; {_words(record['weights'])}"
    for other in record.get("with", []):
        yield f"with {other['run']}; {_words(other)}"


def _words(rule: Mapping[str, Any]) -> str:
    return f"weights: {rule['rule']}, step {rule['step']}"


def write_outputs(path: Path | None, lines: Iterable[str]) -> None:
    """Writes what `--outputs` asks for, if it does."""
    if path is not None:
        with writing("--outputs", path):
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

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
    yield from metric_lines(report.scores, report.digits, report.significant)
    yield from report.notes
    yield ""
    yield from weight_lines(report.summary, record)
    yield from report.remarks


def metric_lines(
    scores: "Mapping[str, Score]", digits: int = 2, significant: int = 0
) -> Iterator[str]:
    """An aligned table.

    Args:
        digits: the number of decimals.
        significant: how many significant digits a small value has at least, with more decimals.
    """
    rows = [_row(score, digits, significant) for score in scores.values()]
    least = (12, 5 + digits, 12 + 2 * digits)
    name, value, between = (
        max([width, *(len(row[i]) for row in rows)]) for i, width in enumerate(least)
    )
    yield f"{'metric':{name}} {'value':>{value}}  {'95% interval':{between}}  signature"
    for row in rows:
        yield f"{row[0]:{name}} {row[1]:>{value}}  {row[2]:{between}}  {row[3]}"


def _row(score: "Score", digits: int, significant: int) -> tuple[str, str, str, str]:
    """Name, value, interval and signature of a score."""
    from ...metrics.score import decimals_of

    n = decimals_of([score.value], digits, significant)
    interval = "" if score.low is None else f"[{score.low:.{n}f}, {score.high:.{n}f}]"
    return score.name, f"{score.value:.{n}f}", interval, score.signature


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

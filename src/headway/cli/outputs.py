"""What `evaluate` does with runs that predict labels, tags, answers or values."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .figures import metric_lines, weight_lines, weights_record, write_outputs

if TYPE_CHECKING:
    from ..api import OutputEvaluation, Predictor
    from ..data.read import Row


def evaluate_outputs(
    run: Path,
    predictor: "Predictor",
    rows: "Iterator[Row]",
    metrics: list[str] | None,
    cut: bool,
    outputs: Path | None,
    as_json: bool,
) -> None:
    """Prints how right predictions are; blank rows of a table are left out."""
    given = [row for row in rows if any(value.strip() for value in row.values)]
    result = predictor.evaluate(
        [predictor.input(row.values) for row in given],
        [row.values[-1] for row in given],
        metrics,
        "cut" if cut else "refuse",
        [row.where for row in given],
    )
    record = {
        "run": str(run),
        "n": len(given),
        **predictor.known(),
        "metrics": {name: score.to_dict() for name, score in result.scores.items()},
        **weights_record(predictor),
    }
    if as_json:
        print(json.dumps(record))
    else:
        print("\n".join(_table(result, predictor.config.task, predictor.nouns[0], record)))
    write_outputs(outputs, result.outputs)


def _table(
    result: "OutputEvaluation", task: str, noun: str, record: dict[str, Any]
) -> Iterator[str]:
    digits = 4 if task == "regress" else 2
    width = max([12, *(len(score.name) for score in result.scores.values())])
    yield from metric_lines(result.scores, width, digits)
    yield ""
    yield from weight_lines(f"{record['n']} {noun}{KNOWN[task](record)}", record)


KNOWN: dict[str, Callable[[dict[str, Any]], str]] = {
    "classify": lambda record: f", {len(record['labels'])} labels",
    "tag": lambda record: f", {len(record['tags'])} tags, {record['scheme']}",
    "answer": lambda record: ", may say that there is none" if record["answers_may_lack"] else "",
    "regress": lambda record: f", mean in training {record['value']['mean']:.4g}",
}
"""What can be predicted, in words."""

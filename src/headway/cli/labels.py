"""What `evaluate` does with classifiers: how figures are printed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .figures import metric_lines, weight_lines, weights_record, write_outputs

if TYPE_CHECKING:
    from ..api import Classifier, LabelEvaluation
    from ..data.read import Row


def evaluate_labels(
    run: Path,
    classifier: "Classifier",
    rows: "Iterator[Row]",
    metrics: list[str] | None,
    cut: bool,
    outputs: Path | None,
    as_json: bool,
) -> None:
    """Prints how often labels are right; blank rows of a table are left out."""
    given = [row for row in rows if any(value.strip() for value in row.values)]
    result = classifier.evaluate(
        [row.values[0] for row in given],
        [row.values[1] for row in given],
        metrics,
        "cut" if cut else "refuse",
        [row.where for row in given],
    )
    record = {
        "run": str(run),
        "n": len(given),
        "labels": list(classifier.labels),
        "metrics": {name: score.to_dict() for name, score in result.scores.items()},
        **weights_record(classifier),
    }
    print(json.dumps(record) if as_json else "\n".join(_table(result, record)))
    write_outputs(outputs, result.outputs)


def _table(result: "LabelEvaluation", record: dict[str, Any]) -> Iterator[str]:
    yield from metric_lines(result.scores)
    yield ""
    yield from weight_lines(f"{record['n']} texts, {len(record['labels'])} labels", record)

"""What `evaluate` does with classifiers: how figures are printed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .options import writing

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
    rule = {"rule": classifier.rule["rule"], "step": int(classifier.rule["step"])}
    record: dict[str, Any] = {
        "run": str(run),
        "n": len(given),
        "labels": list(classifier.labels),
        "metrics": {name: score.to_dict() for name, score in result.scores.items()},
        "weights": rule,
    }
    if classifier.others:
        record["with"] = [
            {"run": str(one.run.path), "rule": one.rule["rule"], "step": int(one.rule["step"])}
            for one in classifier.others
        ]
    print(json.dumps(record) if as_json else "\n".join(_table(result, record)))
    if outputs is not None:
        with writing("--outputs", outputs):
            lines = "".join(label + "\n" for label in result.outputs)
            outputs.write_text(lines, encoding="utf-8")


def _table(result: "LabelEvaluation", record: dict[str, Any]) -> Iterator[str]:
    yield f"{'metric':12} {'value':>7}  {'95% interval':16}  signature"
    for score in result.scores.values():
        interval = "" if score.low is None else f"[{score.low:.2f}, {score.high:.2f}]"
        yield f"{score.name:12} {score.value:7.2f}  {interval:16}  {score.signature}"
    weights = record["weights"]
    yield ""
    yield (
        f"{record['n']} texts, {len(record['labels'])} labels; "
        f"weights: {weights['rule']}, step {weights['step']}"
    )
    for other in record.get("with", []):
        yield f"with {other['run']}; weights: {other['rule']}, step {other['step']}"

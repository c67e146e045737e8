"""What `evaluate` does with pre-trained models: which texts, and how figures are printed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .figures import metric_lines, weight_lines, weights_record
from .texts import given_corpora

if TYPE_CHECKING:
    from ..api import Pretrained
    from ..tasks.pretrain import Judged


def evaluate_restored(
    run: Path,
    model: "Pretrained",
    data: str | None,
    form: str | None,
    metrics: list[str] | None,
    as_json: bool,
) -> None:
    """Prints how much of damaged text is restored."""
    corpora, root = given_corpora(model, data, form)
    result = model.evaluate(corpora, metrics, root)
    record = {
        "run": str(run),
        "n": result.n_passages,
        "objective": model.config.pretrain.objective,
        "metrics": {name: score.to_dict() for name, score in result.scores.items()},
        "floors": result.floors,
        **weights_record(model),
    }
    print(json.dumps(record) if as_json else "\n".join(_table(result, record)))


def _table(result: "Judged", record: dict[str, Any]) -> Iterator[str]:
    yield from metric_lines(result.scores, name=16, digits=3)
    for name, value in result.floors.items():
        if name in result.scores:
            shown = result.scores[name].name
            yield f"{shown}: the most frequent answer, always given, is right in {value:.3f}"
    yield ""
    what = f"{record['n']} passages, objective {record['objective']}"
    yield from weight_lines(what, record)

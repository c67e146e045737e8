"""`headway info`: a summary of a run directory."""

import json
from collections.abc import Iterator
from typing import Any

from .options import Json, Run

UNDECIDED = "not decided yet"
COLUMNS_SHOWN = 8


def info(run: Run, as_json: Json = False) -> None:
    """Shows a run's task, model, data and progress.

    Works for unfinished runs too.

    Example: headway info runs/mine
    """
    from ..inspection.run_info import info as facts_of
    from ..runs import RunDir

    facts = facts_of(RunDir.open(run))
    print(json.dumps(facts) if as_json else "\n".join(_lines(facts)))


def _lines(facts: dict[str, Any]) -> Iterator[str]:
    fields = {
        "run": facts["run"],
        "task": facts["task"],
        "model": _model(facts["model"]),
        "parameters": UNDECIDED if facts["parameters"] is None else f"{facts['parameters']:,}",
        "vocabulary": _vocabulary(facts["vocabulary"]),
        **_data(facts),
        "updates": _steps(facts["steps"]),
        "best": _best(facts["best"]),
        "weights": _weights(facts["weights"]),
        "seed": facts["seed"],
        "made with": ", ".join(f"{name} {value}" for name, value in _versions(facts)),
        "format": facts["format"],
    }
    for name, value in fields.items():
        yield f"{name + ':':13} {value}"


def _model(model: dict[str, Any]) -> str:
    """The family and its sizes, which are the whole numbers of the settings."""
    sizes = [f"{k} {v}" for k, v in model.items() if type(v) is int and "position" not in k]
    return ", ".join([model["family"], *sizes])


def _vocabulary(vocabulary: dict[str, Any] | None) -> str:
    if vocabulary is None:
        return UNDECIDED
    is_series = "columns" in vocabulary
    read = _series(vocabulary) if is_series else f"{vocabulary['source']} {vocabulary['kind']}"
    for name in ("labels", "tags"):
        if name in vocabulary:
            return f"{read}, {vocabulary['target']} {name}"
    if is_series or "value" in vocabulary or "answers_may_lack" in vocabulary:
        return read
    if vocabulary["shared"]:
        return f"{vocabulary['source']} {vocabulary['kind']}, shared"
    return f"{vocabulary['source']} source and {vocabulary['target']} target {vocabulary['kind']}"


def _series(series: dict[str, Any]) -> str:
    """The columns of series, and their lengths or the windows of a forecast."""
    columns = ", ".join(series["columns"][:COLUMNS_SHOWN])
    more = ", ..." if len(series["columns"]) > COLUMNS_SHOWN else ""
    if "horizon" in series:
        steps = f"{series['horizon']} steps of {series['frequency']} after {series['history']}"
    else:
        shortest, longest = series["shortest"], series["longest"]
        steps = f"{shortest} to {longest} steps" if shortest < longest else f"{longest} steps"
    return f"none; columns {columns}{more}; {steps}"


def _data(facts: dict[str, Any]) -> dict[str, str]:
    data, origin = facts["data"], facts["facts"].get("imported_from")
    fields = {"data": data["root"] if origin is None else f"none, imported from {origin}"}
    for name in ("train", "valid", "test"):
        if name in data:
            key = f" (key {data[name]['key']})" if data[name]["key"] else ""
            fields[f"  {name}"] = ", ".join(data[name]["files"]) + key
    return fields


def _steps(steps: dict[str, Any]) -> str:
    planned = UNDECIDED if steps["planned"] is None else steps["planned"]
    saved = ", ".join(map(str, steps["checkpoints"])) or "none"
    state = "finished" if steps["finished"] else "not finished"
    return (
        f"{steps['done']} of {planned}, {steps['minutes']:.1f} minutes, {state}; "
        f"checkpoints: {saved}"
    )


def _best(best: dict[str, Any] | None) -> str:
    if best is None:
        return "no validation yet"
    return f"{best['metric']} {best['value']:.4g} at step {best['step']}"


def _weights(weights: dict[str, Any] | None) -> str:
    return "none yet" if weights is None else f"{weights['rule']}, step {weights['step']}"


def _versions(facts: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "headway", facts["headway"]
    yield from facts["facts"].items()

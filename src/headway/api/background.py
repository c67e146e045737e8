"""What a page shows of a run beside one text: its facts, its position codes, its training log."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from ..nn.positions import Learned, NoPositions, RelativeBias, Rotary, Sines, Sinusoidal, sinusoidal
from ..runs import RunDir
from .config import RunConfig
from .inspection import Background

N_POSITIONS = 64
N_ROWS = 500
"""Rows of figures that are kept of a log; a curve of more looks the same."""
DIGITS = 6

Records = list[dict[str, Any]]


def background(
    run: RunDir, config: RunConfig, model: nn.Module, n_parameters: int, rule: dict[str, str]
) -> Background:
    """Of a run in use."""
    records = run.log.read()
    about = {
        "name": run.path.resolve().name,
        "family": config.model.family,
        "parameters": n_parameters,
        "facts": [[name, value] for name, value in facts(config, records, n_parameters, rule)],
    }
    return Background(about, positions_of(model), training_rows(records))


def facts(
    config: RunConfig, records: Records, n_parameters: int | None, rule: dict[str, str] | None
) -> list[tuple[str, str]]:
    """What a run is and how far it has come, for a person."""
    found = {"Task": config.task, "Model": config.model_name}
    if n_parameters is not None:
        found["Parameters"] = f"{n_parameters:,}"
    names = {"train": "Training examples", "valid": "Validation examples"}
    for key, count in newest(records, "examples", {}).items():
        found[names[key]] = f"{count:,}"
    found["Seed"] = str(config.seed)
    found["Steps"] = f"{newest(records, 'step', 0):,}"
    found["Training time"] = duration(newest(records, "minutes", 0.0))
    if rule is not None:
        found["Weights"] = f"{rule['rule']} (step {int(rule['step']):,})"
    return list(found.items())


def newest(records: Records, key: str, default: Any = None) -> Any:
    """The newest value of a key in the log."""
    return next((record[key] for record in reversed(records) if key in record), default)


def duration(minutes: float) -> str:
    """`48 s`, `2 min 41 s`, `1 h 5 min`."""
    seconds = round(minutes * 60)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60} min"


def positions_of(model: nn.Module) -> dict[str, Any] | None:
    """How a model tells order, with codes of the first positions; None if it has no such part.

    Rotary positions turn queries and keys. Their codes are the sines and cosines of the angles,
    whose dot products depend on distance as those of turned vectors do.
    """
    # Rotary and relative ones come with NoPositions, which adds nothing.
    for kind in (Sinusoidal, Learned, Rotary, RelativeBias, NoPositions):
        found = [module for module in model.modules() if isinstance(module, kind)]
        if found:
            return _positions(found)
    return None


def _positions(found: Sequence[nn.Module]) -> dict[str, Any]:
    first, last = found[0], found[-1]
    if isinstance(first, Learned) and isinstance(last, Learned):
        table = first.weight[:N_POSITIONS].detach().float().cpu().numpy()
        other = last.weight[:N_POSITIONS].detach().float().cpu().numpy()
        target = other if last is not first else None
        return {"kind": "learned", "base": None, "table": table, "target": target}
    kind = "rotary" if isinstance(first, Rotary) else "sinusoidal"
    if isinstance(first, Sinusoidal | Rotary):
        sines: Sines = first.sines
        table = sinusoidal(torch.arange(N_POSITIONS), sines.width, sines.base).numpy()
        return {"kind": kind, "base": sines.base, "table": table, "target": None}
    kind = "relative" if isinstance(first, RelativeBias) else "none"
    return {"kind": kind, "base": None, "table": None, "target": None}


def training_rows(records: Records) -> Records:
    """What can be drawn of a log: numbers and samples, with figures thinned out evenly."""
    rows = [row for row in map(_drawable, records) if len(row) > 1]
    thin = [row for row in rows if _is_figures(row)]
    every = -(-len(thin) // N_ROWS) if thin else 1
    kept = {id(row) for row in [*thin[::every], *thin[-1:]]}
    return [row for row in rows if not _is_figures(row) or id(row) in kept]


def _drawable(record: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {
        name: value if isinstance(value, int) else float(f"{value:.{DIGITS}g}")
        for name, value in record.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    if "samples" in record:
        row["samples"] = record["samples"]
    return row


def _is_figures(row: dict[str, Any]) -> bool:
    """Whether it is one of many rows between validations."""
    return "loss" in row and "valid_loss" not in row and "samples" not in row

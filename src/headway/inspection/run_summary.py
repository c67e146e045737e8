"""The summary of a run on pages: facts, position codes and training log.

`inspection.py` defines the type; `report.py` uses the facts too.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from ..nn.positions import (
    LearnedPositions,
    NoPositions,
    RelativeBias,
    Rotary,
    Sines,
    Sinusoidal,
    sinusoidal,
)
from ..run_config import RunConfig
from ..runs import RunDir
from ..view.training_log import training_rows
from .inspection import RunSummary

N_POSITIONS = 64
"""Number of positions whose codes are shown."""

Records = list[dict[str, Any]]


def summarize_run(
    run: RunDir, config: RunConfig, model: nn.Module, n_parameters: int, rule: dict[str, str]
) -> RunSummary:
    """The summary of a loaded run."""
    records = run.log.read()
    description = {
        "name": run.path.resolve().name,
        "family": config.model.family,
        "parameters": n_parameters,
        "facts": [
            [name, value] for name, value in summary_rows(config, records, n_parameters, rule)
        ],
    }
    return RunSummary(description, positions_of(model), training_rows(records))


def summary_rows(
    config: RunConfig, records: Records, n_parameters: int | None, rule: dict[str, str] | None
) -> list[tuple[str, str]]:
    """Names and values of a run's facts, for readers."""
    facts = {"Task": config.task, "Model": config.model_name}
    if n_parameters is not None:
        facts["Parameters"] = f"{n_parameters:,}"
    names = {"train": "Training examples", "valid": "Validation examples"}
    for key, count in last_logged(records, "examples", {}).items():
        facts[names[key]] = f"{count:,}"
    facts["Seed"] = str(config.seed)
    facts["Steps"] = f"{last_logged(records, 'step', 0):,}"
    facts["Training time"] = duration(last_logged(records, "minutes", 0.0))
    if rule is not None:
        facts["Weights"] = f"{rule['rule']} (step {int(rule['step']):,})"
    return list(facts.items())


def last_logged(records: Records, key: str, default: Any = None) -> Any:
    """The last value of a key in the log."""
    return next((record[key] for record in reversed(records) if key in record), default)


def duration(minutes: float) -> str:
    """A duration as `48 s`, `2 min 41 s` or `1 h 5 min`."""
    seconds = round(minutes * 60)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60} min"


def positions_of(model: nn.Module) -> dict[str, Any] | None:
    """Type and codes of a model's positions; None if it has no such module.

    Rotary positions rotate queries and keys. Their codes are the sines and cosines of the angles,
    whose dot products depend on distance as those of rotated vectors do.
    """
    # Rotary and relative positions come with NoPositions, which adds nothing.
    for cls in (Sinusoidal, LearnedPositions, Rotary, RelativeBias, NoPositions):
        modules = [module for module in model.modules() if isinstance(module, cls)]
        if modules:
            return _positions(modules)
    return None


def _positions(modules: Sequence[nn.Module]) -> dict[str, Any]:
    first, last = modules[0], modules[-1]
    if isinstance(first, LearnedPositions) and isinstance(last, LearnedPositions):
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

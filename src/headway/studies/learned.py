"""Models trained for a study under one budget, as ordinary runs.

Each has a run file in the study's folder and a run directory under `runs`. `compare/run.py` trains
them, resumes interrupted runs and trains nothing twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import config as configs
from ..compare.run import compare
from ..errors import RunError
from ..inference.load import load
from ..run_config import RunConfig
from ..runs.atomic import make_directory, write_bytes
from ..training.progress import Display
from .lookup import LookUps, write_lookups

RUNS = "runs"


@dataclass(frozen=True)
class StudyRun:
    """A trained run: the loaded model, updates, minutes and parameters."""

    model: Any
    run: Path
    steps: int
    minutes: float | None
    parameters: int | None

    def to_dict(self) -> dict[str, Any]:
        costs = {"steps": self.steps, "minutes": self.minutes, "parameters": self.parameters}
        return {"run": str(self.run), **costs}


def train_models(
    out: Path, run_files: Mapping[str, RunConfig], data: LookUps, minutes: float, display: Display
) -> dict[str, StudyRun]:
    """Writes data and run files into `out`, and trains the missing runs.

    Args:
        run_files: settings by the name in tables; `data.root` is a folder in `out`.

    Raises:
        RunError: a training failed, or `out` has a run with other settings.
    """
    first = next(iter(run_files.values()))
    write_lookups(data, out / (first.data.root or ""))
    files = {name: out / f"{_stem(name)}.toml" for name in run_files}
    make_directory(out)
    for name, config in run_files.items():
        write_bytes(files[name], configs.to_toml(config).encode())
    comparison = compare(list(files.values()), out=out / RUNS, minutes=minutes, display=display)
    for name, failure in comparison.failures:
        raise RunError(f"{name} could not be trained: {failure.error}")
    rows = {row.name: row.runs[0] for row in comparison.rows}
    learned = {}
    for name in run_files:
        trained = rows[_stem(name)]
        model = load(trained.run)
        steps = int(model.weights_info["step"])
        learned[name] = StudyRun(model, trained.run, steps, trained.minutes, trained.parameters)
    return learned


def _stem(name: str) -> str:
    return name.lower().replace(" + ", "-")

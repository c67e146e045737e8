"""Averages of checkpoints: at the end of training, or of a finished run as a new run."""

import shutil
from pathlib import Path

import torch
from torch import Tensor

from .. import config as configs
from ..errors import RunError
from ..nn.lora import merged
from ..run_config import load_run_config
from ..runs import RunDir
from ..runs.directory import AVERAGED_FROM
from .state import group


def average_checkpoints(run: RunDir, steps: list[int], prefix: str = "model") -> dict[str, Tensor]:
    """Mean of the weights of checkpoints, computed in double precision, with LoRA merged."""
    total: dict[str, Tensor] = {}
    for step in steps:
        for name, value in group(run.load_checkpoint(step).tensors, prefix).items():
            total[name] = total.get(name, torch.zeros((), dtype=torch.float64)) + value.double()
    return merged({name: (value / len(steps)).float() for name, value in total.items()})


def average(path: str | Path, last: int, out: str | Path) -> list[int]:
    """Makes the run directory `out`, whose weights are the mean of the newest `last` checkpoints.

    Checkpoints of interruptions and of the clock do not count: their steps are accidental. The new
    run is used like any other, but cannot be resumed.

    Returns:
        The steps of the checkpoints.

    Raises:
        RunError: there are fewer checkpoints, or `out` is not empty.
    """
    run = RunDir.open(path)
    config = load_run_config(run)
    regular = [step for step in run.checkpoints() if config.train.plans_checkpoint(step)]
    if not 1 <= last <= len(regular):
        listed = f": steps {', '.join(map(str, regular))}" if regular else ""
        raise RunError(
            f"{run.path} has {len(regular)} regular checkpoints{listed}; the last {last} cannot be "
            "averaged; choose fewer, or train with a larger train.keep"
        )
    steps = regular[-last:]
    tensors = average_checkpoints(run, steps, "average" if config.train.ema else "model")
    new = RunDir.create(out, {**run.facts, AVERAGED_FROM: str(run.path.resolve())})
    with new.lock():
        with new.writing_codecs() as folder:
            shutil.copytree(run.codecs, folder, dirs_exist_ok=True)
        new.write_text("data.json", run.read_text("data.json"))
        new.save_weights(tensors, f"average of steps {', '.join(map(str, steps))}", steps[-1])
        new.log.finish(steps[-1])
        # Last, because it makes the directory a run; written in the current format.
        new.write_text("run.toml", configs.to_toml(config))
    return steps

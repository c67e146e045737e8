"""Averaging the checkpoints of a run into a new one, whatever rule chose the run's own weights."""

import shutil
from pathlib import Path

from ..errors import RunError
from ..runs import RunDir
from ..training.fit import average_checkpoints, is_regular
from .config import stored_config

AVERAGED_FROM = "averaged_from"
"""The fact by which `resume` knows a directory that has nothing to go on from."""


def average(path: str | Path, last: int, out: str | Path) -> list[int]:
    """Makes the run directory `out`, whose weights are the mean of the newest `last` checkpoints.

    Those of interruptions and of the clock do not count: where they fall is chance. The new run is
    used like any other, but cannot be resumed.

    Returns:
        The steps of the checkpoints.

    Raises:
        RunError: there are not so many checkpoints, or `out` holds something.
    """
    run = RunDir.open(path)
    config = stored_config(run)
    there = [step for step in run.checkpoints() if is_regular(config.train, step)]
    if not 1 <= last <= len(there):
        listed = f": steps {', '.join(map(str, there))}" if there else ""
        raise RunError(
            f"{run.path} has {len(there)} regular checkpoints{listed}; the last {last} cannot be "
            "averaged; ask for fewer, or train with a larger train.keep"
        )
    steps = there[-last:]
    tensors = average_checkpoints(run, steps, "average" if config.train.ema else "model")
    new = RunDir.create(out, {**run.facts, AVERAGED_FROM: str(run.path.resolve())})
    with new.lock():
        with new.writing_codecs() as folder:
            shutil.copytree(run.codecs, folder, dirs_exist_ok=True)
        new.write_text("data.json", run.read_text("data.json"))
        new.save_weights(tensors, f"average of steps {', '.join(map(str, steps))}", steps[-1])
        new.log.append({"step": steps[-1], "finished": True})
        # Last, because it is what makes the directory a run.
        new.write_text("run.toml", run.read_text("run.toml"))
    return steps

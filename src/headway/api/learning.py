"""`train` and `resume`: a run is made or gone on with, its report written, its model loaded."""

import os
from pathlib import Path
from typing import Any

from ..training.display import Display
from .assembly import make_run, resume_run
from .config import RunConfig
from .loading import load
from .report import write_report


def train(config: RunConfig, out: str | Path, display: Display | None = None) -> Any:
    """Trains into the run directory `out`, which must not exist or be empty, and loads the result.

    What is given back depends on the task, as with `load`.

    Args:
        config: from `read_config`, or made in Python; relative data files then start from
            `data.root`, or else from the working directory.
        display: where progress is shown; nowhere if left out.

    Raises:
        HeadwayError: in words; what was reached until then is in `out`.
    """
    make_run(config, out, display)
    return _finished(out)


def resume(
    out: str | Path,
    display: Display | None = None,
    inexact: bool = False,
    data_root: str | Path | None = None,
) -> Any:
    """Goes on with a run that was stopped, exactly where it stood, and loads the result.

    Args:
        inexact: go on although torch, threads or data differ from those the run began with.
        data_root: where the data are now, if they were moved.
    """
    resume_run(out, display, inexact, data_root)
    return _finished(out)


def _finished(out: str | Path) -> Any:
    if os.environ.get("RANK", "0") == "0":  # of several processes the first one writes
        write_report(out)
    return load(out)

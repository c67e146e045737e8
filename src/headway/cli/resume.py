"""`headway resume`: continues a stopped run."""

from pathlib import Path
from typing import Annotated

import typer

from .options import Json, Run
from .progress import show_training

Inexact = Annotated[
    bool,
    typer.Option("--inexact", help="Continue although torch, threads or data have changed."),
]
DataRoot = Annotated[
    Path | None,
    typer.Option("--data-root", help="The folder of the data, if they were moved."),
]


def resume(
    run: Run, inexact: Inexact = False, data_root: DataRoot = None, as_json: Json = False
) -> None:
    """Resumes an interrupted run exactly where it stopped.

    Without --inexact the weights equal those of an uninterrupted run, bit for bit.

    Example: headway resume runs/mine
    """
    from ..api import resume as continue_run

    show_training(run, lambda display: continue_run(run, display, inexact, data_root), as_json)

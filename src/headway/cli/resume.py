"""`headway resume`: goes on with a run that was stopped."""

from pathlib import Path
from typing import Annotated

import typer

from .options import Json, Run
from .progress import learn

Inexact = Annotated[
    bool,
    typer.Option(
        "--inexact", help="Go on although torch, threads or data are not those of the start."
    ),
]
DataRoot = Annotated[
    Path | None,
    typer.Option("--data-root", help="Where the data are now, if they were moved."),
]


def resume(
    run: Run, inexact: Inexact = False, data_root: DataRoot = None, as_json: Json = False
) -> None:
    """Resumes an interrupted run exactly where it stopped.

    Without --inexact the weights equal those of an uninterrupted run, bit for bit.

    Example: headway resume runs/mine
    """
    from ..api import resume as go_on

    learn(run, lambda display: go_on(run, display, inexact, data_root), as_json)

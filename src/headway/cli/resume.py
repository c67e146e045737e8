"""`headway resume`: goes on with a run that was stopped."""

from pathlib import Path
from typing import Annotated

import typer

from .learning import learn
from .options import Json, Run

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
    """Goes on with a stopped run, exactly where it stood.

    Without --inexact the result is, bit for bit, that of a run which was never stopped.

    Example: headway resume runs/mine
    """
    from ..api import resume as go_on

    learn(run, lambda display: go_on(run, display, inexact, data_root), as_json)

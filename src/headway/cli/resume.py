"""`headway resume`: goes on with a run that was stopped."""

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


def resume(run: Run, inexact: Inexact = False, as_json: Json = False) -> None:
    """Goes on with a run that was stopped, exactly where it stood.

    The result is, bit for bit, that of a run which was never stopped.

    Example: headway resume runs/mine
    """
    from ..api import resume as go_on

    learn(run, lambda display: go_on(run, display, inexact), as_json)

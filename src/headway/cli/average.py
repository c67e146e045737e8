"""`headway average`: the mean of a run's last checkpoints as a run of its own."""

import json
from pathlib import Path
from typing import Annotated

import typer

from .options import Json, Run

Last = Annotated[int, typer.Option("--last", min=1, help="How many of the newest checkpoints.")]
Out = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="The run directory to make; new or empty.")
]


def average(run: Run, out: Out, last: Last = 5, as_json: Json = False) -> None:
    """Averages the last checkpoints into a new run.

    It is used like any other run. How many checkpoints there are is train.keep of the run file.

    Example: headway average runs/mine --last 3 --out runs/mine-averaged
    """
    from ..training.averaging import average as make

    steps = make(run, last, out)
    if as_json:
        print(json.dumps({"run": str(out), "steps": steps}))
    else:
        print(f"{out}: average of steps {', '.join(map(str, steps))}")

"""`headway average`: the mean of a run's last checkpoints as a new run."""

import json
from pathlib import Path
from typing import Annotated

import typer

from .options import Json, Run

Last = Annotated[int, typer.Option("--last", min=1, help="Number of newest checkpoints.")]
Out = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="The run directory to make; new or empty.")
]


def average(run: Run, out: Out, last: Last = 5, as_json: Json = False) -> None:
    """Averages the last checkpoints into a new run.

    It is used like any other run. train.keep of the run file is the number of checkpoints.

    Example: headway average runs/mine --last 3 --out runs/mine-averaged
    """
    from ..training.averaging import average as make

    steps = make(run, last, out)
    if as_json:
        print(json.dumps({"run": str(out), "steps": steps}))
    else:
        print(f"{out}: average of steps {', '.join(map(str, steps))}")

"""`headway study`: measures a claim about models."""

import json
from pathlib import Path
from typing import Annotated

import typer

from .options import Json, Threads, set_threads
from .progress import display_for

Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="gradients: their reach by distance; recall: look-ups by distance; steps: the time of "
        "an update by length.",
    ),
]
Minutes = Annotated[
    float | None,
    typer.Option("--minutes", help="Minutes of training for each model (gradients, recall)."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of data, models and training.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="The folder for results. Default: runs/study-NAME."),
]


def study(
    name: Name,
    out: Out = None,
    minutes: Minutes = None,
    seed: Seed = 1,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Measures a claim about recurrence and attention.

    Generates its own data, takes about ten minutes on two cores, and writes a table, a record and a
    picture. After a stop, the same command continues.

    Example: headway study recall
    """
    from ..studies.study import run_study
    from ..training.stop_signals import Interrupted

    set_threads(threads)
    where = out or Path("runs", f"study-{name}")
    try:
        with display_for(where) as display:
            finding = run_study(name, where, seed, minutes, display)
    except Interrupted as error:
        message = f"stopped; trained runs are kept in {where}; the same command continues"
        raise Interrupted(message, error.exit_code - 128) from None
    print(json.dumps(finding.to_dict()) if as_json else finding.text())
    if not as_json:
        print(f"\nwritten: {where / name}.md, .json and .svg")

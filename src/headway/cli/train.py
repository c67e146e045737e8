"""`headway train`: from a run file to a run directory."""

from pathlib import Path
from typing import Annotated

import typer

from .options import Json
from .progress import show_training

RunFile = Annotated[Path, typer.Argument(metavar="RUN.toml", help="The run file.")]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(metavar="KEY=VALUE", help="Settings that override the run file: train.lr=3e-4"),
]
Out = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="The run directory to make; new or empty.")
]


def train(run_file: RunFile, out: Out, overrides: Overrides = None, as_json: Json = False) -> None:
    """Trains a model from a run file.

    Writes a run directory with a report page. Ctrl-C saves and prints how to continue.

    Example: headway train run.toml train.minutes=10 --out runs/mine
    """
    from ..api import train as start
    from ..run_config import read_config

    config = read_config(run_file, overrides or ())
    show_training(out, lambda display: start(config, out, display), as_json)

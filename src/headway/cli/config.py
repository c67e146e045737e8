"""`headway config`: a run file with all its defaults, or the reference of run files."""

import json
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ConfigError
from .options import Json
from .train import Overrides

RunFile = Annotated[
    Path | None, typer.Argument(metavar="RUN.toml", help="A run file; without it, the reference.")
]


def config(run_file: RunFile = None, overrides: Overrides = None, as_json: Json = False) -> None:
    """Prints a run file with its defaults, or explains all keys.

    Settings that depend on the data (sizes, number of updates) are chosen when training starts.

    Example: headway config run.toml train.lr=3e-4
    """
    from .. import config as configs
    from ..run_config import RunConfig, read_config

    if run_file is None:
        if as_json:
            raise ConfigError("--json needs a run file; without one the reference is plain text")
        print(configs.describe(RunConfig), end="")
        return
    settings = read_config(run_file, overrides or ())
    print(json.dumps(configs.to_dict(settings)) if as_json else configs.to_toml(settings).rstrip())

"""`headway export`: writes a trained run for another library."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, get_args

import typer

from ..errors import ConfigError, install_hint
from .options import Json, Run, Weights

PACKAGES = {"hf": "transformers", "ctranslate2": "ctranslate2"}

To = Annotated[
    str,
    typer.Option("--to", metavar="FORMAT", help="hf (Hugging Face transformers) or ctranslate2."),
]
Out = Annotated[
    Path, typer.Option("--out", metavar="FOLDER", help="The folder to make; new or empty.")
]
Stored = Annotated[
    str,
    typer.Option(
        "--quantization", help="Type of the stored weights, for ctranslate2: int8 or float32."
    ),
]


def export(
    run: Run,
    to: To,
    out: Out,
    quantization: Stored = "float32",
    as_json: Json = False,
    weights: Weights = None,
) -> None:
    """Writes a run in the format of another library.

    If the library is installed, it then loads the folder and must give the same results as the run.

    Example: headway export runs/mine --to ctranslate2 --quantization int8 --out exported
    """
    from ..inference.load import load
    from ..interop.export import Format, Quantization
    from ..interop.export import export as write

    _require_known("--to", to, get_args(Format))
    _require_known("--quantization", quantization, get_args(Quantization))
    done = write(load(run, device="cpu", weights=weights), to, out, quantization)  # type: ignore[arg-type]
    check = done.check
    if check is None:
        package = PACKAGES[to]
        print(
            f"the export was not checked: {package} is not installed; {install_hint(to)}",
            file=sys.stderr,
        )
    if as_json:
        record = {"out": str(done.folder), "to": to, "layout": done.layout}
        print(json.dumps({**record, "check": asdict(check) if check else None}))
        return
    print(f"{done.folder}: {done.layout}")
    if check is not None:
        print(
            f"largest difference of {check.what}: {check.difference:.2g} "
            f"({check.sentences} sentences of {check.origin})"
        )


def _require_known(option: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ConfigError(f"{option} {value}: expected one of {', '.join(known)}")

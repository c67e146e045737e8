"""`headway import`: makes a run from a model of Hugging Face's transformers."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from .options import Json

Folder = Annotated[
    Path,
    typer.Argument(
        metavar="DIR", help="A folder with config.json, model.safetensors and tokenizer.json."
    ),
]
Out = Annotated[
    Path, typer.Option("--out", metavar="RUN", help="The run directory to make; new or empty.")
]
Pairs = Annotated[
    bool,
    typer.Option("--pairs", help="The model takes pairs of texts, not single texts."),
]


def import_model(folder: Folder, out: Out, pairs: Pairs = False, as_json: Json = False) -> None:
    """Imports a model that Hugging Face saved.

    BERT, RoBERTa, DistilBERT (also for labels, values, tags and answers), GPT-2, T5, BART, Marian
    and models with their layout. Only JSON and safetensors are read, nothing is downloaded and no
    code of the folder is run.

    Example: headway import models/gpt2 --out runs/gpt2
    """
    from ..interop.import_model import import_run

    done = import_run(folder, out, pairs)
    for note in done.notes:
        print(note, file=sys.stderr)
    if as_json:
        record = {"run": str(done.run), "layout": done.layout, "task": done.task}
        print(json.dumps({**record, "parameters": done.n_parameters, "notes": done.notes}))
    else:
        print(f"{done.run}: {done.layout}, {done.n_parameters:,} parameters, task {done.task}")

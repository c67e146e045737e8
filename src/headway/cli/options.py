"""Arguments and options that several verbs have, so that they read and mean the same everywhere."""

from pathlib import Path
from typing import Annotated

import typer

Run = Annotated[Path, typer.Argument(metavar="DIR", help="A run directory: the --out of training.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for scripts.")]
Beam = Annotated[
    int | None,
    typer.Option("--beam", help="Hypotheses kept alive at each step; 1 is greedy search."),
]
Alpha = Annotated[
    float | None,
    typer.Option("--alpha", help="Length normalisation: rank by log p / length ** alpha."),
]
MaxLength = Annotated[
    int | None, typer.Option("--max-length", help="The longest output, in tokens.")
]
Split = Annotated[
    bool,
    typer.Option(
        "--split", help="Split lines that are too long at spaces, instead of refusing them."
    ),
]
Threads = Annotated[int | None, typer.Option("--threads", min=1, help="Threads to compute with.")]
Source = Annotated[
    str | None,
    typer.Option("--source", help="File of inputs; with --data, the name or number of a column."),
]
Target = Annotated[
    str | None,
    typer.Option("--target", help="File of outputs; with --data, the name or number of a column."),
]
Data = Annotated[
    str | None, typer.Option("--data", help="One file with both columns, such as pairs.tsv.")
]
Format = Annotated[
    str | None,
    typer.Option("--format", help="Format of --data where its extension does not tell."),
]


def set_threads(number: int | None) -> None:
    """Computes with so many threads; None leaves the choice to torch."""
    if number is not None:
        import torch

        torch.set_num_threads(number)

"""Arguments and options that several verbs have, so that they read and mean the same everywhere.

`Grouped` is the command class that shows options under the headings they name.
"""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

SEARCH = "Search"
COMPUTING = "Computing"


def whole(text: str) -> int:
    """A whole number from the command line."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a whole number") from None


def number(text: str) -> float:
    """A number from the command line."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number") from None


Run = Annotated[Path, typer.Argument(metavar="DIR", help="A run directory: the --out of training.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for scripts.")]
With = Annotated[
    list[Path] | None,
    typer.Option(
        "--with",
        metavar="DIR",
        help="A further run: the mean of all their probabilities is used; may be given again.",
        rich_help_panel=COMPUTING,
    ),
]
Beam = Annotated[
    int | None,
    typer.Option(
        "--beam",
        parser=whole,
        metavar="N",
        help="Hypotheses kept alive at each step; 1 is greedy search.",
        rich_help_panel=SEARCH,
    ),
]
Alpha = Annotated[
    float | None,
    typer.Option(
        "--alpha",
        parser=number,
        metavar="NUMBER",
        help="Length normalisation: rank by log p / length ** alpha.",
        rich_help_panel=SEARCH,
    ),
]
MaxLength = Annotated[
    int | None,
    typer.Option(
        "--max-length",
        parser=whole,
        metavar="N",
        help="The longest output, in tokens.",
        rich_help_panel=SEARCH,
    ),
]
Split = Annotated[
    bool,
    typer.Option(
        "--split", help="Split lines that are too long at spaces, instead of refusing them."
    ),
]
Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, help="Threads to compute with.", rich_help_panel=COMPUTING),
]
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


class Grouped(TyperCommand):
    """A command whose help shows options under the headings they name as `rich_help_panel`.

    The library does so only in boxes, which take twice the time.
    """

    def format_options(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
                heading = getattr(parameter, "rich_help_panel", None) or usual
                groups.setdefault(heading, []).append(record)
        for heading, records in groups.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)

"""Arguments and options that several verbs have, so that they read and mean the same everywhere.

`Grouped` is the command class that shows options under the headings they name.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from ..errors import ConfigError, RunError

SEARCH = "Search"
SAMPLING = "Sampling"
COMPUTING = "Computing"


def whole(text: str) -> int:
    """A whole number from the command line."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a whole number") from None


Run = Annotated[Path, typer.Argument(metavar="DIR", help="A run directory: the --out of training.")]
Tokenized = Annotated[
    bool,
    typer.Option("--tokenized", help="The targets are tokenised already: BLEU cuts at spaces."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for scripts.")]
With = Annotated[
    list[Path] | None,
    typer.Option(
        "--with",
        metavar="DIR",
        help="Add a run to the ensemble, whose probabilities are averaged; may be repeated.",
        rich_help_panel=COMPUTING,
    ),
]
Split = Annotated[
    bool,
    typer.Option(
        "--split", help="Split lines that are too long at spaces, instead of refusing them."
    ),
]
Cut = Annotated[
    bool,
    typer.Option(
        "--cut", help="Cut texts that are too long to be read at once, instead of refusing them."
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
    str | None,
    typer.Option("--data", help="One file with all columns, such as pairs.tsv or lines.txt."),
]
Format = Annotated[
    str | None,
    typer.Option("--format", help="Format of --data where its extension does not tell."),
]


def whole_numbers(option: str, text: str, example: str) -> tuple[int, ...]:
    """Whole numbers with commas between them.

    Raises:
        ConfigError: something else stands there.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise ConfigError(f"{option} {text}: expected whole numbers with commas, such as {example}")
    return tuple(map(int, parts))


@contextmanager
def writing(option: str, path: Path) -> Iterator[None]:
    """Says which option named a file that cannot be written."""
    try:
        yield
    except OSError as error:
        raise RunError(
            f"{option} {path} cannot be written: {error.strerror}; name another path or make room"
        ) from None


def refuse_options(run: Path, task: str, given: Mapping[str, Any]) -> None:
    """Refuses options of other tasks, which would be passed over."""
    for option, value in given.items():
        if value:
            raise ConfigError(
                f"{option} has no meaning for {run}, which was trained for task {task!r}; "
                "leave it out"
            )


def warn(text: str) -> None:
    """A line on standard error about something that is no failure."""
    print(f"headway: warning: {text}", file=sys.stderr)


def set_threads(number: int | None) -> None:
    """Computes with so many threads; None leaves the choice to torch."""
    if number is not None:
        import torch

        torch.set_num_threads(number)


class Grouped(TyperCommand):
    """A command whose help shows options under the headings they name as `rich_help_panel`.

    The library does so only in boxes, which take twice the time. A verb with a function
    `help_values` has the fields of its docstring filled in when its help is asked for.
    """

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        values = getattr(self.callback, "help_values", None)
        if values is not None and self.help:
            self.help = self.help.format(**values())
        super().format_help_text(ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        first = ("Arguments", "Options", SEARCH)
        groups: dict[str, list[tuple[str, str]]] = {heading: [] for heading in first}
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


def check_engine(engine: str, compute_type: str) -> None:
    """Refuses an engine or a compute type that does not exist, in words of the options."""
    from ..inference.engines import ENGINES, OWN, engine_module, engine_names

    if engine not in engine_names():
        raise ConfigError(f"--engine {engine}: expected {' or '.join(engine_names())}")
    if engine != OWN:
        known = engine_module(engine).COMPUTE_TYPES
        if compute_type not in known:
            raise ConfigError(f"--compute-type {compute_type}: expected one of {', '.join(known)}")
    elif compute_type != "default":
        others = " or ".join(ENGINES)
        raise ConfigError(
            f"--compute-type {compute_type} is a setting of the engine {others}; add --engine "
            f"{others} or leave it out"
        )

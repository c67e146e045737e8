"""Arguments and options that several verbs share, with one text and meaning.

`Grouped` is the command class that groups options by heading.
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
    typer.Option("--tokenized", help="The targets are tokenised: BLEU splits at spaces only."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for scripts.")]
With = Annotated[
    list[Path] | None,
    typer.Option(
        "--with",
        metavar="DIR",
        help="Add a run to the ensemble, whose probabilities are averaged; repeatable.",
        rich_help_panel=COMPUTING,
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(
        "--weights",
        metavar="best|last|STEP",
        help="Load these weights instead of those that training kept.",
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
        "--cut", help="Cut texts that are too long for the model, instead of refusing them."
    ),
]
Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, help="Number of threads.", rich_help_panel=COMPUTING),
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
    typer.Option("--format", help="Format of --data, if its extension does not determine it."),
]


def whole_numbers(option: str, text: str, example: str) -> tuple[int, ...]:
    """The whole numbers of a text, separated by commas.

    Raises:
        ConfigError: the text has other parts.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise ConfigError(f"{option} {text}: expected whole numbers with commas, such as {example}")
    return tuple(map(int, parts))


@contextmanager
def writing(option: str, path: Path) -> Iterator[None]:
    """Turns write errors into a message that names the option of the file."""
    try:
        yield
    except OSError as error:
        raise RunError(
            f"{option} {path} cannot be written: {error.strerror}; name another path or make room"
        ) from None


def refuse_options(run: Path, task: str, options: Mapping[str, Any]) -> None:
    """Refuses options of other tasks, which would have no effect."""
    for option, value in options.items():
        if value:
            raise ConfigError(
                f"{option} has no meaning for {run}, which was trained for task {task!r}; "
                "leave it out"
            )


def warn(text: str) -> None:
    """Prints a warning on standard error."""
    print(f"headway: warning: {text}", file=sys.stderr)


def set_threads(number: int | None) -> None:
    """Sets the number of threads; None leaves the choice to torch."""
    if number is not None:
        import torch

        torch.set_num_threads(number)


class Grouped(TyperCommand):
    """A command whose help groups options by their `rich_help_panel`.

    The library does so only in boxes, which take twice the time. A verb with a function
    `help_values` has the fields of its docstring filled in when its help is printed.
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
    """Refuses an unknown engine or compute type; messages name the option."""
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

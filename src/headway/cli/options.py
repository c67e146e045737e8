"""Arguments and options that several verbs have, so that they read and mean the same everywhere.

`Grouped` is the command class that shows options under the headings they name.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
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


def number(text: str) -> float:
    """A number from the command line."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number") from None


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
MinLength = Annotated[
    int | None,
    typer.Option(
        "--min-length",
        parser=whole,
        metavar="N",
        help="The shortest output, in tokens, its end counted.",
        rich_help_panel=SEARCH,
    ),
]
NoRepeat = Annotated[
    int | None,
    typer.Option(
        "--no-repeat",
        parser=whole,
        metavar="N",
        help="No N tokens come twice in the same order; 3 stops loops.",
        rich_help_panel=SEARCH,
    ),
]
Temperature = Annotated[
    float | None,
    typer.Option(
        "--temperature",
        parser=number,
        metavar="NUMBER",
        help="Below 1 likely tokens become likelier, above 1 the choice more even.",
        rich_help_panel=SAMPLING,
    ),
]
TopK = Annotated[
    int | None,
    typer.Option(
        "--top-k",
        parser=whole,
        metavar="K",
        help="Draw among the K likeliest tokens.",
        rich_help_panel=SAMPLING,
    ),
]
TopP = Annotated[
    float | None,
    typer.Option(
        "--top-p",
        parser=number,
        metavar="P",
        help="Draw among the fewest tokens that are P probable together.",
        rich_help_panel=SAMPLING,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        parser=whole,
        metavar="N",
        help="The same seed draws the same outputs.",
        rich_help_panel=SAMPLING,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--search",
        metavar="KEY=VALUE",
        help="Any setting of [search], such as min_ratio=0.5; may be given again.",
        rich_help_panel=SEARCH,
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


def search_settings(given: Sequence[str] | None, **options: Any) -> dict[str, Any]:
    """Settings of the search from `--search` and from options of their own, which may be None.

    Values are read as in a run file, or as text where they are none: `method=sample`. Which
    settings there are and what fits is left to the search.

    Raises:
        ConfigError: one has no `=`, or is given in both ways.
    """
    from ..config import read_value

    settings: dict[str, Any] = {}
    for one in given or ():
        name, equals, value = one.removeprefix("search.").partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"--search {one}: expected KEY=VALUE, for example min_ratio=0.5")
        settings[name.strip()] = read_value(value)
    chosen = {name: value for name, value in options.items() if value is not None}
    for name in settings.keys() & chosen.keys():
        raise ConfigError(
            f"--search {name}={settings[name]} and an option of its own set search.{name}; leave "
            "one of them out"
        )
    return settings | chosen


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

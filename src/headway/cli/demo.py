"""`headway demo`: training and use of a model on embedded data."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import Json, whole
from .progress import display_for

if TYPE_CHECKING:
    from rich.table import Table

    from ..demo.demo import DemoResult
    from ..view.report import Sample

FIRST = "dates"
Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="dates: written dates in many languages to ISO form; "
        "pronounce: English spelling to phonemes; "
        "forecast: the length of the day, weeks ahead.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="The run directory to make. Default: runs/demo, or runs/demo-NAME.",
    ),
]
Steps = Annotated[
    int | None,
    typer.Option(
        "--steps",
        parser=whole,
        metavar="N",
        help="Number of updates; fewer are faster and less accurate.",
    ),
]


def demo(name: Name = FIRST, out: Out = None, steps: Steps = None, as_json: Json = False) -> None:
    """Trains on embedded data, uses the model, writes a report.

    Takes a few minutes on two cores and downloads nothing.

    Example: headway demo --out runs/demo
    """
    from ..demo.demo import run_demo

    where = out or Path("runs", "demo" if name == FIRST else f"demo-{name}")
    with display_for(where) as display:
        result = run_demo(name, where, display, steps)
    if as_json:
        print(json.dumps(result.to_dict()))
    else:
        _show(result)


def _show(result: "DemoResult") -> None:
    from rich.console import Console

    console = Console(highlight=False, markup=False, soft_wrap=False)
    console.print(_table(result.rows))
    for line in _lines(result):
        print(line)


def _table(rows: list["Sample"]) -> "Table":
    """The table of samples, by rich, which knows the width of letters of every script."""
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE)
    has_confidence = any(row.confidence is not None for row in rows)
    for heading in ("input", "output", *["confidence"] * has_confidence, ""):
        table.add_column(heading, overflow="fold")
    for row in rows:
        confidence = "" if row.confidence is None else f"{row.confidence:.1%}"
        texts = [row.source, row.output, *[confidence] * has_confidence, _verdict(row)]
        cells = [Text(text) for text in texts]
        if row.is_right is False:
            cells[-1].stylize("bold red")
        table.add_row(*cells)
    return table


def _verdict(row: "Sample") -> str:
    if row.is_right is None:
        return "" if row.expected is None else f"measured: {row.expected}"
    return "✓ right" if row.is_right else f"✗ wrong, correct: {row.expected}"


def _lines(result: "DemoResult") -> Iterator[str]:
    yield from result.findings.remarks
    yield ""
    for label, scores in result.scores.items():
        yield f"{label}:"
        for score in scores.values():
            interval = "" if score.low is None else f"  [{score.low:.2f}, {score.high:.2f}]"
            yield f"  {score.name} {score.value:.2f}{result.unit}{interval}"
    yield from result.findings.warnings
    yield ""
    size = f"{result.parameters:,} parameters, {result.steps:,} updates"
    yield f"{size}, {result.minutes:.1f} minutes in all"
    yield f"run:     {result.run}"
    yield f"report:  {result.report}"
    yield "next:"
    for command in result.commands:
        yield f"  {command.line}  # {command.purpose}"

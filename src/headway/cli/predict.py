"""`headway predict`: a label for each input line, in order, as it goes."""

import json
import sys
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from .options import Cut, Json, Run, Threads, With, set_threads

if TYPE_CHECKING:
    from ..api import Prediction

CHUNK_LINES = 4096

Files = Annotated[
    list[str] | None,
    typer.Argument(metavar="FILE", help="Files of input lines; - or none: standard input."),
]


def predict(
    run: Run,
    files: Files = None,
    cut: Cut = False,
    as_json: Json = False,
    more: With = None,
    threads: Threads = None,
) -> None:
    """Labels lines of text with a run that was trained for it.

    One line for each: label, tab, its probability; --json has those of all labels. A blank line
    gets a label too, told from nothing.

    Example: headway predict runs/mine reviews.txt
    """
    from ..api import Classifier
    from ..api.loading import load_for

    set_threads(threads)
    classifier = load_for("predict", Classifier, run, *(more or []))
    for places, lines in _chunks(files or ["-"]):
        found = classifier.predict(lines, "cut" if cut else "refuse", places)
        for line, prediction in zip(lines, found, strict=True):
            print(_json(line, prediction) if as_json else _line(prediction))
        print(end="", flush=True)


def _chunks(files: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Places (`file:line`) and lines, some thousands at a time."""
    from ..data.lines import read_lines

    for file in files:
        name = "standard input" if file == "-" else file
        # A person who types wants an answer to every line.
        size = 1 if file == "-" and sys.stdin.isatty() else CHUNK_LINES
        lines = read_lines(file)
        done = 0
        while chunk := list(islice(lines, size)):
            yield [f"{name}:{done + i}" for i in range(1, len(chunk) + 1)], chunk
            done += len(chunk)


def _line(prediction: "Prediction") -> str:
    return f"{prediction.label}\t{prediction.probability:.6f}"


def _json(line: str, prediction: "Prediction") -> str:
    record = {
        "text": line,
        "label": prediction.label,
        "probability": prediction.probability,
        "probabilities": prediction.probabilities,
    }
    return json.dumps(record, ensure_ascii=False)

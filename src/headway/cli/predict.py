"""`headway predict`: one prediction for each input line, in order, chunk by chunk."""

import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import DataError
from .eval_data import corpus_of
from .options import Cut, Format, Json, Run, Threads, Weights, With, set_threads

if TYPE_CHECKING:
    from ..data.formats.read import Row
    from ..inference.predictor import Predictor

CHUNK_LINES = 4096

Files = Annotated[
    list[str] | None,
    typer.Argument(metavar="FILE", help="Files of input lines; - or none: standard input."),
]


def predict(
    run: Run,
    files: Files = None,
    form: Format = None,
    cut: Cut = False,
    as_json: Json = False,
    more: With = None,
    weights: Weights = None,
    threads: Threads = None,
) -> None:
    """Predicts the output for each input line, such as its label.

    Prints one line for each input line, by the task of the run. {lines}. Separate the texts of a
    pair, or question and text, with a tab. --json prints all fields. A blank line stays blank.
    With --format, files are read as tables with the columns of the training data.

    Example: headway predict runs/mine reviews.txt
    """
    from ..inference.load import load_for
    from ..inference.predictor import Predictor

    set_threads(threads)
    # `Predictor` is the abstract base of all prediction tasks.
    predictor: Predictor = load_for("predict", Predictor, run, *(more or []), weights=weights)  # type: ignore[type-abstract]
    for rows in _chunks(predictor, files or ["-"], form):
        filled = [row for row in rows if any(map(str.strip, row.values))]
        inputs = [predictor.input(row.values) for row in filled]
        locations = [row.where for row in filled]
        predictions = iter(predictor.predict(inputs, "cut" if cut else "refuse", locations))
        for row in rows:
            prediction = next(predictions) if any(map(str.strip, row.values)) else None
            if as_json:
                columns = dict(zip(predictor.inputs, row.values, strict=True))
                fields = {} if prediction is None else predictor.to_dict(prediction)
                print(json.dumps(columns | fields, ensure_ascii=False))
            else:
                print("" if prediction is None else predictor.format_prediction(prediction))
        print(end="", flush=True)


def _help_values() -> dict[str, str]:
    from ..inference.load import trained_classes
    from ..inference.predictor import Predictor

    classes = trained_classes().items()
    lines = (f"{task}: {c.line}" for task, c in classes if issubclass(c, Predictor))
    return {"lines": "; ".join(lines)}


predict.help_values = _help_values  # type: ignore[attr-defined]


def _chunks(predictor: "Predictor", files: list[str], form: str | None) -> Iterator[list["Row"]]:
    """The inputs with their locations (`file:line`), some thousands at a time."""
    for file in files:
        rows = _lines(predictor, file) if form is None else _table(predictor, file, form)
        # On a terminal, each line is answered at once.
        size = 1 if file == "-" and sys.stdin.isatty() else CHUNK_LINES
        while chunk := list(islice(rows, size)):
            yield chunk


def _lines(predictor: "Predictor", file: str) -> Iterator["Row"]:
    from ..data.formats.read import Row, read_lines

    name = "standard input" if file == "-" else file
    columns = predictor.inputs
    for number, line in enumerate(read_lines(file), 1):
        fields = (line,) if len(columns) == 1 else tuple(line.split("\t"))
        if len(fields) != len(columns):
            raise DataError(
                f"{name}:{number}: {len(fields)} {'fields' if len(fields) > 1 else 'field'} where "
                f"{' and '.join(columns)} were expected, with a tab between them; or read the "
                "file as a table with --format"
            )
        yield Row(fields, f"{name}:{number}")


def _table(predictor: "Predictor", file: str, form: str) -> Iterator["Row"]:
    from ..data.formats.read import read

    corpus = corpus_of(predictor, None, None, file, form)
    for row in read(corpus, predictor.inputs, Path()):
        if any(map(str.strip, row.values)):
            yield row

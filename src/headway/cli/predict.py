"""`headway predict`: one prediction for each input line, in order, chunk by chunk."""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError, DataError, InputError
from .eval_data import corpus_of
from .input_lines import CHUNK_LINES, OnError, input_chunks, left_out_lines, text_of
from .options import Cut, Json, Run, Threads, Weights, With, set_threads, warn

if TYPE_CHECKING:
    from ..data.config import Corpus
    from ..inference.predictor import Predictor

Files = Annotated[
    list[str] | None,
    typer.Argument(metavar="FILE", help="Files of input lines; - or none: standard input."),
]

Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="Format of the files. Default: the table format of the extension, as .csv, or else "
        "lines.",
    ),
]


def predict(
    run: Run,
    files: Files = None,
    form: Format = None,
    cut: Cut = False,
    on_error: OnError = "stop",
    as_json: Json = False,
    more: With = None,
    weights: Weights = None,
    threads: Threads = None,
) -> None:
    """Predicts the output for each input line, such as its label.

    Prints one line for each input line, by the task of the run. {lines}. Separate the texts of a
    pair, or question and text, with a tab. --json prints all fields. A blank line stays blank.
    Tables, by extension or by --format, have the columns of the training data; the output has one
    line for each row, or for each series in the formats of series.

    Example: headway predict runs/mine reviews.txt
    """
    from ..inference.load import load_for
    from ..inference.predictor import Predictor

    set_threads(threads)
    # `Predictor` is the abstract base of all prediction tasks.
    predictor: Predictor = load_for("predict", Predictor, run, *(more or []), weights=weights)  # type: ignore[type-abstract]
    options: dict[str, Any] = {"too_long": "cut" if cut else "refuse", "on_error": on_error}
    show = _json if as_json else _line
    with left_out_lines() as left_out:
        for places, inputs in _chunks(predictor, files or ["-"], form, on_error):
            predictions = _predictions(predictor, inputs, places, options)
            for values, prediction in zip(inputs, predictions, strict=True):
                print(show(predictor, values, prediction))
                left_out.add(prediction)
            print(end="", flush=True)


def _predictions(
    predictor: "Predictor", inputs: list[Any], places: list[str], options: dict[str, Any]
) -> list[Any]:
    """The prediction for each input; None for a blank one."""
    filled = [row for row, values in enumerate(inputs) if not _is_blank(predictor, values)]
    given = [_input(predictor, inputs[row]) for row in filled]
    found = predictor.predict(given, places=[places[row] for row in filled], **options)
    by_row = dict(zip(filled, found, strict=True))
    return [by_row.get(row) for row in range(len(inputs))]


def _is_blank(predictor: "Predictor", values: Any) -> bool:
    """Whether an input is a blank line; a series without values is none, and is refused."""
    from ..data.config import reads_series

    if isinstance(values, InputError) or reads_series(predictor.inputs):
        return False
    return predictor.is_blank(values)


def _input(predictor: "Predictor", values: Any) -> Any:
    return values if isinstance(values, InputError) else predictor.input(values)


def _line(predictor: "Predictor", values: Any, prediction: Any) -> str:
    """The line of a prediction; empty for a blank input and for an error."""
    is_empty = prediction is None or isinstance(prediction, InputError)
    return "" if is_empty else predictor.format_prediction(prediction)


def _json(predictor: "Predictor", values: Any, prediction: Any) -> str:
    is_error = isinstance(values, InputError)
    record = dict.fromkeys(predictor.inputs) if is_error else predictor.plain_input(values)
    if isinstance(prediction, InputError):
        record["error"] = text_of(prediction)
    elif prediction is not None:
        record |= predictor.to_dict(prediction)
    return json.dumps(record, ensure_ascii=False)


def _help_values() -> dict[str, str]:
    from ..inference.load import trained_classes
    from ..inference.predictor import Predictor

    classes = trained_classes().items()
    lines = (f"{task}: {c.line}" for task, c in classes if issubclass(c, Predictor))
    return {"lines": "; ".join(lines)}


predict.help_values = _help_values  # type: ignore[attr-defined]


def _chunks(
    predictor: "Predictor", files: list[str], form: str | None, on_error: OnError
) -> Iterator[tuple[list[str], list[Any]]]:
    """Locations (`file:line`) and the columns of inputs, some thousands at a time."""
    from ..data.codecs.series import names_of
    from ..data.formats.format import Note, add_notes
    from ..data.formats.read import read

    for file in files:
        corpus = _table(predictor, file, form)
        if corpus is None:
            yield from input_chunks([file], on_error, lambda *line: _columns(predictor, *line))
            continue
        rows = read(corpus, predictor.inputs, Path(), names_of(predictor.task.codecs))
        notes: dict[str, Note] = {}
        while chunk := list(islice(rows, CHUNK_LINES)):
            for row in chunk:
                add_notes(notes, row.notes)
            yield [row.where for row in chunk], [row.values for row in chunk]
        for note in notes.values():
            if note.is_warning:
                warn(str(note))


def _columns(predictor: "Predictor", line: str, location: str, file: str) -> tuple[str, ...]:
    """The columns of a line, which a tab separates."""
    columns = predictor.inputs
    fields = (line,) if len(columns) == 1 else tuple(line.split("\t"))
    if len(fields) != len(columns) and not line.strip():
        return ("",) * len(columns)
    if len(fields) != len(columns):
        raise DataError(
            f"{location}: {len(fields)} {'fields' if len(fields) > 1 else 'field'} where "
            f"{' and '.join(columns)} were expected, with a tab between them; or read the "
            "file as a table with --format"
        )
    return fields


def _table(predictor: "Predictor", file: str, form: str | None) -> "Corpus | None":
    """The table that a file is by its format or its extension; None for plain lines."""
    from ..data.config import column_of, format_by_extension, reads_series
    from ..inference.series_files import without_labels

    if reads_series(predictor.inputs):
        if file == "-":
            raise ConfigError("series are read from files; name one")
        return without_labels(corpus_of(predictor, None, None, file, form), predictor.task.columns)
    name = form or format_by_extension(file)
    if name is None or name == "lines":
        return None
    if file == "-":
        raise ConfigError(f"--format {name} needs a file; standard input is read as lines")
    corpus = corpus_of(predictor, None, None, file, name)
    if name != "tsv":
        return corpus
    first = _first_fields(file)
    entries = {column: column_of(corpus, column) for column in predictor.inputs}
    has_header = {entry or column for column, entry in entries.items()} <= set(first)
    if form is None and len(first) == len(entries) and not has_header:
        return None
    columns = predictor.task.columns
    if len(first) == len(columns) and not has_header and not any(entries.values()):
        positions: dict[str, Any] = {column: n for n, column in enumerate(columns, 1)}
        return replace(corpus, **positions)
    return corpus


def _first_fields(file: str) -> list[str]:
    """The fields of the first line that is not blank."""
    from ..data.formats.lines import lines_or_errors

    lines = (line for line in lines_or_errors(file) if isinstance(line, str))
    return next((line for line in lines if line.strip()), "").split("\t")

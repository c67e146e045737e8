"""`headway translate`: one output line for each input line, in order, as it goes.

Input is taken in chunks, so that any amount of it fits; inside a chunk lines of like length are
searched together.
"""

import json
import sys
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import Alpha, Beam, Json, MaxLength, Run, Split, Threads, set_threads

if TYPE_CHECKING:
    from ..api import Translation

CHUNK_LINES = 4096

Files = Annotated[
    list[str] | None,
    typer.Argument(metavar="FILE", help="Files of input lines; - or none: standard input."),
]
NBest = Annotated[
    int | None,
    typer.Option("--nbest", help="Outputs for each line, as: number from 0 ||| text ||| score."),
]


def translate(
    run: Run,
    files: Files = None,
    beam: Beam = None,
    alpha: Alpha = None,
    nbest: NBest = None,
    max_length: MaxLength = None,
    split: Split = False,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Translates lines of text with a trained run.

    Settings of the search that are not given are those of the run. A line break inside an output
    becomes a space; --json keeps it.

    Example: headway translate runs/mine --beam 8 news.en > news.de
    """
    from ..api import load

    set_threads(threads)
    translator = load(run)
    search = {"beam": beam, "alpha": alpha, "n_best": nbest, "max_length": max_length}
    n_best = translator.search_config(**search).n_best
    number = 0
    for places, lines in _chunks(files or ["-"]):
        found = translator.translate(lines, "split" if split else "refuse", places, **search)
        for translation in found:
            for line in _lines(number, translation, n_best, as_json):
                print(line)
            number += 1
        sys.stdout.flush()


def one_line(text: str) -> str:
    """The text without line breaks, so that outputs stay in step with inputs."""
    return text.replace("\r", " ").replace("\n", " ")


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


def _lines(number: int, translation: "Translation", n_best: int, as_json: bool) -> Iterator[str]:
    if as_json:
        yield json.dumps(_record(translation), ensure_ascii=False)
    elif n_best == 1:
        yield one_line(translation.text)
    else:
        for output in translation.outputs:
            yield f"{number} ||| {one_line(output.text)} ||| {output.score:.6f}"


def _record(translation: "Translation") -> dict[str, Any]:
    return {
        "source": translation.source,
        "outputs": [
            {
                "text": output.text,
                "log_prob": output.log_prob,
                "score": output.score,
                "tokens": output.tokens,
            }
            for output in translation.outputs
        ],
    }

"""`headway embed`: vectors of lines of text, and their cosines."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from ..errors import ConfigError, InputError
from .input_lines import LeftOut, OnError, input_chunks, left_out_lines, text_of
from .options import Cut, Json, Run, Threads, Weights, set_threads, whole, writing

if TYPE_CHECKING:
    import numpy as np

    from ..inference.base import TooLong
    from ..inference.embedder import Embedder

NEARNESS = "Nearness"

Files = Annotated[
    list[str] | None,
    typer.Argument(metavar="FILE", help="Files with a text per line; - or none: standard input."),
]
PoolingName = Annotated[
    str | None,
    typer.Option(
        "--pooling",
        metavar="mean|first",
        help="The vector of a text: the mean of the states of its tokens, or the state of the "
        "first. Default: the pooling of the run.",
    ),
]
Normalise = Annotated[
    bool | None,
    typer.Option(
        "--normalise/--no-normalise",
        help="Scale vectors to length 1. Default: only if the imported model does so.",
    ),
]
Word = Annotated[
    str | None,
    typer.Option(
        "--word",
        metavar="WORD",
        help="Compute the vector of this word in each text, instead of the vector of the text.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Write all vectors to a NumPy file (.npy)."),
]
Compare = Annotated[
    bool,
    typer.Option(
        "--compare",
        help="Print the cosine of every pair of texts.",
        rich_help_panel=NEARNESS,
    ),
]
Nearest = Annotated[
    str | None,
    typer.Option(
        "--nearest",
        metavar="FILE",
        help="Print the texts of this file that are nearest to each text, by cosine.",
        rich_help_panel=NEARNESS,
    ),
]
Top = Annotated[
    int | None,
    typer.Option(
        "--top",
        parser=whole,
        metavar="N",
        help="Number of nearest texts. Default: 5.",
        rich_help_panel=NEARNESS,
    ),
]
Embedded = tuple[list[Any], list[Any]]
"""Texts and their vectors, with an `InputError` in place of those that cannot be used."""


def embed(
    run: Run,
    files: Files = None,
    pooling: PoolingName = None,
    normalise: Normalise = None,
    word: Word = None,
    cut: Cut = False,
    on_error: OnError = "stop",
    out: Out = None,
    as_json: Json = False,
    weights: Weights = None,
    compare: Compare = False,
    nearest: Nearest = None,
    top: Top = None,
    threads: Threads = None,
) -> None:
    """Computes embeddings of texts, or of one word in each text.

    Prints one JSON object for each line, with text and vector. The run needs a family with an
    encoder, such as encoder; its task does not matter. A word matches as a whole word, in any case;
    if it has several tokens or occurs several times, its vectors are averaged.

    Example: headway embed runs/mine sentences.txt --word bank --compare
    """
    from ..inference.embedder import Embedder, Pooling
    from ..inference.load import load

    _check_options(out, compare, nearest, top)
    can_keep = not compare and nearest is None
    if on_error == "keep" and not can_keep:
        raise ConfigError("--on-error keep goes with vectors; leave out --compare and --nearest")
    if pooling is not None and pooling not in get_args(Pooling):
        raise ConfigError(f"--pooling {pooling}: expected mean or first")
    set_threads(threads)
    embedder = Embedder(load(run, weights=weights), pooling, normalise)  # type: ignore[arg-type]
    with left_out_lines(can_keep) as left_out:
        vectors = _Vectors(embedder, word, cut, on_error, left_out)
        if out is not None:
            _write(vectors, files or ["-"], out, as_json)
        elif compare:
            _print_cosines(*vectors.all(files or ["-"]), as_json)
        elif nearest is not None:
            _print_nearest(vectors, files or ["-"], nearest, top or 5, as_json)
        else:
            _print_vectors(vectors, files or ["-"])


def _print_vectors(vectors: "_Vectors", files: Sequence[str]) -> None:
    for texts, chunk in vectors.chunks(files):
        for text, vector in zip(texts, chunk, strict=True):
            record: dict[str, Any] = {"text": None if isinstance(text, InputError) else text}
            if isinstance(vector, InputError):
                record["error"] = text_of(vector)
            else:
                record["vector"] = vector.tolist()
            print(json.dumps(record, ensure_ascii=False))
        print(end="", flush=True)


def _check_options(out: Path | None, compare: bool, nearest: str | None, top: int | None) -> None:
    uses = {"--out": out is not None, "--compare": compare, "--nearest": nearest is not None}
    chosen = [option for option, is_set in uses.items() if is_set]
    if len(chosen) > 1:
        raise ConfigError(f"{' and '.join(chosen)} exclude each other; leave out all but one")
    if top is not None and nearest is None:
        raise ConfigError("--top is the number of texts of --nearest; add --nearest FILE")
    if top is not None and top < 1:
        raise ConfigError(f"--top {top}: expected a number of at least 1")


class _Vectors:
    """Vectors of the lines of files."""

    def __init__(
        self,
        embedder: "Embedder",
        word: str | None,
        cut: bool,
        on_error: OnError,
        left_out: LeftOut,
    ) -> None:
        self.embedder, self.word, self.on_error = embedder, word, on_error
        self.too_long: TooLong = "cut" if cut else "refuse"
        self.left_out = left_out

    def chunks(self, files: Sequence[str]) -> Iterator[Embedded]:
        """Texts and vectors, some thousand lines at a time."""
        for places, texts in input_chunks(files, self.on_error, lambda line, *_: line):
            vectors = self.embedder.rows(texts, self.word, self.too_long, places, self.on_error)
            for vector in vectors:
                self.left_out.add(vector)
            yield texts, vectors

    def all(self, files: Sequence[str]) -> tuple[list[Any], "np.ndarray"]:
        """All texts, and their vectors as an array."""
        chunks = list(self.chunks(files))
        rows = [vector for _, vectors in chunks for vector in vectors]
        return [text for texts, _ in chunks for text in texts], self.embedder.matrix(rows)


def _write(vectors: _Vectors, files: Sequence[str], out: Path, as_json: bool) -> None:
    import numpy as np

    _, matrix = vectors.all(files)
    with writing("--out", out), out.open("wb") as file:
        np.save(file, matrix)
    n, width = matrix.shape
    record = {"out": str(out), "n": n, "width": width}
    print(json.dumps(record) if as_json else f"{out}: {n} vectors of {width} numbers")


def _print_cosines(texts: list[str], vectors: "np.ndarray", as_json: bool) -> None:
    from ..inference.embedder import cosines

    rows = cosines(vectors, vectors).tolist()
    if as_json:
        print(json.dumps({"texts": texts, "cosines": rows}, ensure_ascii=False))
        return
    if not rows:
        return
    width = max(6, len(str(len(rows))))
    number = len(str(len(rows)))
    print(" " * number, *(f"{i:>{width}}" for i in range(1, len(rows) + 1)))
    for i, (text, row) in enumerate(zip(texts, rows, strict=True), 1):
        print(f"{i:>{number}}", *(f"{value:>{width}.3f}" for value in row), f" {text}")


def _print_nearest(
    vectors: _Vectors, files: Sequence[str], among: str, top: int, as_json: bool
) -> None:
    from ..inference.embedder import nearest

    candidates, matrix = vectors.all([among])
    for texts, chunk in vectors.chunks(files):
        for text, best in zip(
            texts, nearest(vectors.embedder.matrix(chunk), matrix, top), strict=True
        ):
            if as_json:
                near = [
                    {"text": candidates[hit.index], "line": hit.index + 1, "cosine": hit.cosine}
                    for hit in best
                ]
                print(json.dumps({"text": text, "nearest": near}, ensure_ascii=False))
                continue
            print(text)
            for hit in best:
                print(f"  {hit.cosine:.4f}  {candidates[hit.index]}")
        print(end="", flush=True)

"""Lines of files or of standard input for commands that answer line by line, and lines left out.

With `--on-error keep`, a line that cannot be read or used has an `InputError` in its place. Such
lines are empty in the output and listed at its end.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Annotated, Any, Literal

import typer

from ..errors import DataError, InputError
from .flags import with_flags

CHUNK_LINES = 4096
STANDARD_INPUT = "standard input"


def _stop_or_keep(text: str) -> str:
    if text not in ("stop", "keep"):
        raise typer.BadParameter(f"{text!r} is neither stop nor keep")
    return text


OnError = Annotated[
    Literal["stop", "keep"],
    typer.Option(
        "--on-error",
        parser=_stop_or_keep,
        metavar="stop|keep",
        help="At a line that cannot be used, stop; or keep going, leave it empty, list it at the "
        "end and exit with 1.",
    ),
]


def input_chunks(
    files: Sequence[str],
    on_error: Literal["stop", "keep"],
    parse: Callable[[str, str, str], Any],
    size: int | None = None,
) -> Iterator[tuple[list[str], list[Any]]]:
    """Locations (`file:line`) and inputs of files, some thousands at a time.

    Args:
        files: `-` is standard input; on a terminal, each of its lines is a chunk.
        parse: makes an input of a line, its location and its file.
        size: number of lines in a chunk; by default some thousands.
    """
    from ..data.formats.lines import lines_or_errors

    for file in files:
        name = STANDARD_INPUT if file == "-" else file
        lines, done = lines_or_errors(file), 0
        own_size = 1 if file == "-" and sys.stdin.isatty() else size or CHUNK_LINES
        while chunk := list(islice(lines, own_size)):
            places = [f"{name}:{done + i}" for i in range(1, len(chunk) + 1)]
            yield (
                places,
                [
                    _parsed(line, place, file, on_error, parse)
                    for line, place in zip(chunk, places, strict=True)
                ],
            )
            done += len(chunk)


def _parsed(
    line: str | InputError, place: str, file: str, on_error: str, parse: Callable[..., Any]
) -> Any:
    try:
        if isinstance(line, InputError):
            raise line
        return parse(line, place, file)
    except DataError as error:
        if on_error == "stop":
            raise InputError(str(error)) from None
        return InputError(str(error))


def text_of(error: InputError) -> str:
    """The text of an error for JSON."""
    return with_flags(error.error)


class LeftOut:
    """The errors of a command's lines, for the end of its output."""

    def __init__(self) -> None:
        self.errors: list[InputError] = []
        self.n_lines = 0

    def add(self, result: Any) -> None:
        """Counts the result of a line; an `InputError` is listed at the end."""
        self.n_lines += 1
        if isinstance(result, InputError):
            self.errors.append(result)


@contextmanager
def left_out_lines(can_keep: bool = True) -> Iterator[LeftOut]:
    """Around a command: lists the lines that were left out.

    Args:
        can_keep: whether the command may go on without a line.

    Raises:
        DataError: there are some; or a line stopped the command, and the message names the option
            that leaves it out.
    """
    left_out = LeftOut()
    try:
        yield left_out
    except InputError as error:
        if not can_keep:
            raise
        raise DataError(f"{error}; --on-error keep leaves such lines out") from None
    if left_out.errors:
        print(end="", flush=True)
        n_lines = f"{len(left_out.errors)} of {left_out.n_lines} lines"
        heading = f"{n_lines} cannot be used and are empty in the output:"
        raise DataError("\n".join([heading, *map(str, left_out.errors)]))

"""Standard output and standard error: their encoding, and what happens when they cannot be written.

A full disk behind standard output is the user's to mend and is said in a line; a reader that has
gone is no failure to speak of, and `program` gives it its exit code.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

from ..errors import RunError


class SafeStream:
    """A stream whose failures are told from those of other files."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with _telling():
            return self._stream.write(text)

    def flush(self) -> None:
        with _telling():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _telling() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise RunError(
            f"standard output cannot be written: {error.strerror}; make room or write elsewhere"
        ) from None


@contextmanager
def utf8_output() -> Iterator[None]:
    """Prints are UTF-8 for a while, whatever the locale, and an `Output` takes them."""
    # A file name may hold bytes that are no text: messages show them as \\udcff.
    for stream, errors in ((sys.stdout, "strict"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)
    usual = sys.stdout
    if usual is not None:  # it is where it was closed
        sys.stdout = cast(Any, SafeStream(usual))
    try:
        yield
    finally:
        sys.stdout = usual
        _let_go()


def _let_go() -> None:
    """What cannot be written any more is dropped: the interpreter would complain at its exit."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def log(text: str) -> None:
    """A line on standard error, if anyone can read it."""
    try:
        print(f"headway: {text}", file=sys.stderr)
    except OSError:
        _let_go()

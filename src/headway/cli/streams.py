"""Standard output and standard error: their encoding, and errors of writing to them.

A full disk behind standard output is an error that the user can fix, in one line. A closed reader
is no error; `program` has its exit code.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

from ..errors import RunError


class SafeStream:
    """A stream whose write errors name standard output."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with _explained():
            return self._stream.write(text)

    def flush(self) -> None:
        with _explained():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _explained() -> Iterator[None]:
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
    """Makes standard output a UTF-8 `SafeStream` and standard error UTF-8, in any locale."""
    # A file name may contain bytes that are no text: messages show them as \\udcff.
    for stream, errors in ((sys.stdout, "strict"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)
    usual = sys.stdout
    if usual is not None:  # None if it is closed
        sys.stdout = cast(Any, SafeStream(usual))
    try:
        yield
    finally:
        sys.stdout = usual
        _drop_unwritable()


def _drop_unwritable() -> None:
    """Drops text that can no longer be written, since the interpreter would complain at exit."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def log(text: str) -> None:
    """Prints a line on standard error, if it is open."""
    try:
        print(f"headway: {text}", file=sys.stderr)
    except OSError:
        _drop_unwritable()

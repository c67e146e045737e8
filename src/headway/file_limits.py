"""Limits of files that come from others: bytes of lines and run files, ids, sizes, named pipes.

Readers check these before they build anything, so that a hostile or damaged file cannot fill the
memory or wait for ever.
"""

import os
import stat
from pathlib import Path

from .errors import ConfigError, HeadwayError

MAX_LINE = "HEADWAY_MAX_LINE"
LINE_BYTES = 16 << 20
RUN_FILE_BYTES = 4 << 20
VOCABULARY_SIZE = 1 << 24
"""The most ids of a tokenizer; the largest ones of the field have a few hundred thousand."""
MODEL_SIZE = 1 << 20
"""The largest width, number of layers or heads of a model."""


def max_line_bytes() -> int:
    """The largest length of a line; the environment variable HEADWAY_MAX_LINE changes it.

    Raises:
        ConfigError: the variable is not a positive whole number.
    """
    text = os.environ.get(MAX_LINE)
    if text is None:
        return LINE_BYTES
    if not text.isdecimal() or len(text) > 18 or int(text) < 1:
        raise ConfigError(f"{MAX_LINE} = {text[:40]!r}: expected a number of bytes, at least 1")
    return int(text)


def refuse_named_pipe(path: str | Path, error: type[HeadwayError]) -> None:
    """Refuses a named pipe, which would be waited for until somebody writes to it.

    Pipes of the shell (`<(...)`, below /dev/fd) have a writer.

    Raises:
        HeadwayError: of the class `error`.
    """
    try:
        is_pipe = stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return  # the reader says what is wrong
    if is_pipe and not str(path).startswith(("/dev/fd/", "/proc/")):
        raise error(f"{path} is a named pipe; give a file")

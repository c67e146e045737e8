"""Limits of files that come from others, and their checks.

Readers check them before they build anything, so that a hostile or damaged file cannot fill the
memory, keep a command busy or wait for ever. A reader of a new format gets its limits here.
"""

import json
import os
import stat
from pathlib import Path
from typing import Any

from .errors import ConfigError, HeadwayError

MAX_LINE = "HEADWAY_MAX_LINE"
LINE_BYTES = 16 << 20
"""The longest line; the environment variable HEADWAY_MAX_LINE changes it."""
RUN_FILE_BYTES = 1 << 20
JSON_BYTES = 256 << 20
"""The largest JSON file of a model folder; the largest tokenizers of the field have 35 MB."""
NESTING = 64
"""The deepest nesting of JSON and TOML, and the most parts of a dotted key."""
NUMBER_BITS = 1000
"""The most bits of a whole number; with these it can still become a floating-point number."""
UNPACKED_RATIO, UNPACKED_BYTES = 250, 64 << 20
"""A packed file that unpacks to more bytes may unpack to at most so many times its size; text has
a ratio of 3 to 20, gzip's largest is 1030."""
VOCABULARY_SIZE = 1 << 24
"""The most ids of a tokenizer; the largest ones of the field have a few hundred thousand."""
TOKENIZER_STEPS = 16
"""The most steps of a normalizer, pre-tokenizer or decoder; each may double the length of a text.
The largest of the field have about eight."""
MODEL_SIZE = 1 << 20
"""The largest width, number of layers or heads of a model."""

TOO_DEEP, TOO_LARGE = f"nested more than {NESTING} deep", "a number of hundreds of digits"


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


def read_bounded(path: str | Path, most: int, error: type[HeadwayError], remedy: str) -> bytes:
    """The content of a file of at most `most` bytes.

    Args:
        remedy: for a larger file.

    Raises:
        HeadwayError: of the class `error`: it is a named pipe or has more bytes.
        OSError: it cannot be read.
    """
    refuse_named_pipe(path, error)
    with open(path, "rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise error(f"{path}: has more than {most} bytes; {remedy}")
    return content


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: it is no JSON, is nested too deeply or has a number of hundreds of digits.
    """
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    except ValueError:  # of the interpreter, which reads no longer number
        raise ValueError(TOO_LARGE) from None
    check_values(value)
    return value


def check_values(value: Any) -> None:
    """Checks depth and whole numbers, so that whatever follows or shows them comes to an end.

    Raises:
        ValueError: tables and lists are nested too deeply, or a number has hundreds of digits.
    """
    level = [value]
    for _ in range(NESTING + 1):
        if any(isinstance(entry, int) and entry.bit_length() > NUMBER_BITS for entry in level):
            raise ValueError(TOO_LARGE)
        level = [entry for parent in level for entry in _entries(parent)]
        if not level:
            return
    raise ValueError(TOO_DEEP)


def _entries(value: Any) -> Any:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def check_unpacked(n_packed: int, n_unpacked: int) -> None:
    """Checks how much a packed file has grown so far.

    Raises:
        ValueError: it grows beyond all bounds.
    """
    if n_unpacked > max(UNPACKED_BYTES, n_packed * UNPACKED_RATIO):
        raise ValueError(f"it unpacks to more than {UNPACKED_RATIO} times its size")

"""The errors that a user may see, and the name and version of the package for messages and records.

Every message is one line: what is wrong, the actual value, the expected one and what to do. The
command line prints the message and exits with `exit_code`; any other exception is a bug.
"""

from collections.abc import Iterator
from contextlib import contextmanager

LONGEST_LINE = 2000
"""Characters of a line of a message; messages quote files of others."""
ENDING = 500
"""A longer line keeps its beginning and this many characters of its end, which has the remedy."""
# Control characters, other line ends, and marks that change the direction of a line.
_INVISIBLE = [*range(10), *range(11, 32), *range(127, 160)]
_INVISIBLE += [*range(0x2028, 0x202F), *range(0x2066, 0x206A)]
_ESCAPES = {code: ascii(chr(code))[1:-1] for code in _INVISIBLE}

# The name for `pip install`, as in pyproject.toml; `headway` on PyPI is another project.
DISTRIBUTION = "headway-attention"


def own_version() -> str:
    """The installed version; "unknown" for a source tree that is not installed."""
    from importlib.metadata import PackageNotFoundError, version  # slower than the rest of the file

    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"


def install_hint(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


class HeadwayError(Exception):
    """An error that the user can fix. Subclasses say where.

    Whatever a message quotes, it stays readable: control characters are written as escapes, and
    lines beyond all bounds are cut.
    """

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__("\n".join(map(_readable, message.split("\n"))))


def _readable(line: str) -> str:
    return _cut(_cut(line).translate(_ESCAPES))  # escapes are longer


def _cut(line: str) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    return f"{line[: LONGEST_LINE - ENDING - 5]} ... {line[-ENDING:]}"


class ConfigError(HeadwayError):
    """A setting of the run file or the command line does not exist or does not fit."""

    exit_code = 2


class DataError(HeadwayError):
    """An input file is missing, malformed or does not match its partner."""


class InputError(DataError):
    """One input cannot be used; with `on_error="keep"` it is the result of that input.

    Attributes:
        error: its text; the results of other inputs have `error = None`.
    """

    @property
    def error(self) -> str:
        return str(self)


class RunError(HeadwayError):
    """A run directory is missing, foreign, damaged, in use or cannot be written."""


class MissingExtra(HeadwayError):
    """An optional package is needed and not installed."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(
            f"{what} needs the package {package!r}, which is not installed; {install_hint(extra)}"
        )


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out: Python's error, or that of an allocator of PyTorch."""
    words = ("can't allocate memory", "out of memory")
    is_allocator = isinstance(error, RuntimeError) and any(word in str(error) for word in words)
    return isinstance(error, MemoryError) or is_allocator


@contextmanager
def batch_in_memory(what: str, n: int, longest: int, remedy: str) -> Iterator[None]:
    """Turns a lack of memory into a RunError that names the batch and the settings to lower.

    Args:
        what: the purpose of the batch, such as "an update".
        n: number of examples.
        longest: number of tokens of the longest one.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise RunError(
            f"out of memory in {what} with {n} example{'s' * (n != 1)} of up to {longest} tokens; "
            f"{remedy}"
        ) from error

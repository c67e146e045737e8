"""The errors that a user may see, and the name and version of the package for messages and records.

Every message is one line: what is wrong, the actual value, the expected one and what to do. The
command line prints the message and exits with `exit_code`; any other exception is a bug.
"""

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
    """An error that the user can fix. Subclasses say where."""

    exit_code = 1


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

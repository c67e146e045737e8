"""Reading files of a run directory that may be missing, damaged, or no files at all.

A named pipe is never opened, because reading it would wait for ever.
"""

import errno
import stat
from pathlib import Path

from ..errors import RunError


def require_regular(path: Path) -> None:
    """Refuses directories, named pipes and devices.

    Raises:
        OSError: `path` is missing or is no regular file.
    """
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a directory", str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def read_regular(path: Path) -> bytes:
    """The content of a regular file.

    Raises:
        OSError: `path` is missing, no regular file, or cannot be read.
    """
    require_regular(path)
    return path.read_bytes()


def unreadable(path: Path, error: OSError) -> RunError:
    """The message about a file that cannot be read."""
    is_forbidden = isinstance(error, PermissionError)
    remedy = "check its permissions" if is_forbidden else "restore it from a copy"
    return RunError(f"{path} cannot be read ({error.strerror}); {remedy}")

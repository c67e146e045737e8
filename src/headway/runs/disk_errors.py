"""Messages for failed writes: one line with the cause, the newest good checkpoint and the remedy.

The writers clean up and raise the system's error; this file turns it into a `RunError`.
"""

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import RunError
from .checkpoint import newest_good

FULL = {errno.ENOSPC, errno.EDQUOT}
FORBIDDEN = {errno.EROFS, errno.EACCES, errno.EPERM}


@contextmanager
def explained(directory: Path, name: str, needed: int | None) -> Iterator[None]:
    """Turns system errors while `name` is written into a run directory into `RunError`.

    Args:
        needed: number of bytes to write, None if unknown.
    """
    try:
        yield
    except Exception as error:
        code = _system_code(error)
        if code is None:
            raise
        reason = os.strerror(code).lower()
        if code in FULL:
            need = "" if needed is None else f"{format_bytes(needed)} needed, "
            reason += f": {need}{_free(directory)}"
        raise RunError(
            f"cannot write {directory / name} ({reason}); "
            f"{_newest_checkpoint(directory)}; {_remedy(code, directory)}"
        ) from error


def _system_code(error: Exception) -> int | None:
    """The errno of an error. Libraries written in Rust wrap it in their own errors."""
    if isinstance(error, OSError):
        return error.errno
    wrapped = re.search(r"\(os error (\d+)\)", str(error))
    return int(wrapped[1]) if wrapped else None


def format_bytes(n_bytes: int) -> str:
    """A size with its unit: 999 bytes, 1.5 kB, 2.0 GB."""
    if n_bytes < 1000:
        return f"{n_bytes} bytes"
    size = n_bytes / 1000
    for unit in ("kB", "MB", "GB"):
        if size < 999.95:
            return f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def _free(directory: Path) -> str:
    try:
        return f"{format_bytes(shutil.disk_usage(directory).free)} free"
    except OSError:
        return "free space unknown"


def _newest_checkpoint(directory: Path) -> str:
    try:
        step = newest_good(directory / "checkpoints")
    except RunError:
        step = None
    return "there is no checkpoint yet" if step is None else f"checkpoint step-{step} is still good"


def _remedy(code: int, directory: Path) -> str:
    # Without run.toml nothing can be resumed, and the same command reuses the other files.
    again = f"`headway resume {directory}`"
    if not os.path.isfile(directory / "run.toml"):
        again = "run the same command again"
    if code in FULL:
        return f"free some space, then {again}"
    if code in FORBIDDEN:
        return f"make {directory} writable, then {again}"
    return f"check the disk, then {again}"

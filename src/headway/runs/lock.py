"""One writer at a time: an advisory lock that the kernel releases when its holder dies.

It names its holder; the caller decides what it protects.
"""

import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..errors import RunError

if sys.platform == "win32":
    import msvcrt

    def _acquire(file: IO[bytes]) -> None:
        # Windows forbids others to read locked bytes, so a byte far beyond the end is locked.
        file.seek(1 << 30)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        file.seek(0)
else:
    import fcntl

    def _acquire(file: IO[bytes]) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


_held: set[IO[bytes]] = set()


def _leave_to_parent() -> None:
    """Closes inherited locks: a forked worker that outlives its parent must not hold them."""
    for file in _held:
        file.close()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds the lock file `path`, which is in the directory it protects.

    Raises:
        RunError: another process holds it, it is no file, or the file system has no locks.
    """
    if path.exists() and not path.is_file():
        raise RunError(f"{path} is not a regular file; remove it and try again")
    with open(path, "a+b") as file:
        try:
            _acquire(file)
        except (BlockingIOError, PermissionError) as error:
            raise RunError(
                f"{path.parent} is being written by {_holder(file)}; wait for it to end or stop it"
            ) from error
        except OSError as error:
            raise RunError(
                f"{path.parent} cannot be locked ({error.strerror}); "
                "choose a directory on a local disk"
            ) from error
        _held.add(file)
        try:
            _sign(file)
            yield
        finally:
            _held.discard(file)


def _sign(file: IO[bytes]) -> None:
    file.truncate(0)
    file.write(json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode())
    file.flush()


def _holder(file: IO[bytes]) -> str:
    file.seek(0)
    try:
        signature = json.loads(file.read())
        return f"process {signature['pid']} on {signature['host']}"
    except (ValueError, KeyError, TypeError):
        return "another process"  # it has locked and not signed yet

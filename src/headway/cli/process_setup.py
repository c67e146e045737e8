"""Process settings of the command, which a library must not change on import.

- Freed memory stays in the process. Training steps allocate and free the same large blocks; by
  default glibc takes each from the kernel and returns it at once, so that every step pays for new
  zeroed pages.
- Threads that wait for work sleep.
- Commands that only use models skip a part of torch's import that only its compiler needs, and the
  teardown of Python.
"""

import atexit
import ctypes
import os
import sys
import threading
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import NoReturn

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
LARGE = 1 << 30
LARGEST_IN_OLD_GLIBC = 32 << 20  # it refuses larger values
META_KERNELS = "torch._meta_registrations"
TESTED_TORCH = "2.13."
"""Releases of torch whose import was tested without the meta kernels."""


def keep_freed_memory() -> bool:
    """Makes malloc keep freed memory; returns whether it could, which needs glibc."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        library = ctypes.CDLL(None)
        library.gnu_get_libc_version  # noqa: B018  (other C libraries do not have it)
        mallopt = library.mallopt
    except (OSError, AttributeError):
        return False
    kept = any(mallopt(M_MMAP_THRESHOLD, size) for size in (LARGE, LARGEST_IN_OLD_GLIBC))
    return bool(mallopt(M_TRIM_THRESHOLD, LARGE)) and kept


def end_process(code: int) -> NoReturn:
    """Ends the process without the teardown of Python, which takes half a second with torch.

    Threads are joined, exit handlers run and output is flushed, as in a usual exit.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # the reader is gone, or the stream closed
            stream.flush()
    os._exit(code)


def wait_asleep() -> None:
    """Makes threads that wait for work sleep instead of spinning."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def skip_meta_kernels() -> bool:
    """Skips torch's meta kernels, a third of the time of its import.

    They compute the shapes of results for `torch.compile` and `torch.export`, which a trained model
    never needs. Only for releases of torch that were tested without them.

    Returns:
        Whether they are skipped.
    """
    if "torch" in sys.modules:
        return False
    try:
        is_tested = version("torch").startswith(TESTED_TORCH)
    except PackageNotFoundError:
        return False
    if is_tested:
        sys.modules[META_KERNELS] = ModuleType(META_KERNELS)
    return is_tested

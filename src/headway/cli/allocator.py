"""Keeps freed memory in the process, where the C library allows it to be told so.

A training step allocates and frees the same large blocks again and again. By default glibc takes
each from the kernel and gives it back at once, so that every step pays for fresh zeroed pages; kept
in the process, a block is simply used again. Only the command does this, when it starts: a library
that is imported has no business with its host's allocator.
"""

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
LARGE = 1 << 30
LARGEST_IN_OLD_GLIBC = 32 << 20  # refuses anything above


def keep_freed_memory() -> bool:
    """Whether the setting could be made; elsewhere than on glibc nothing happens."""
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

"""Lines of text out of a file, a gzipped file or standard input.

Only "\\n" and "\\r\\n" end a line: Python's text mode would also break at a bare "\\r", and
`splitlines` at U+2028 and others, which puts parallel files out of step.
"""

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from headway.errors import DataError

BOM = b"\xef\xbb\xbf"
GZIP_MAGIC = b"\x1f\x8b"
BUFFER_BYTES = 1 << 16


def read_lines(path: str | Path, name: str | None = None) -> Iterator[str]:
    """The lines of a UTF-8 file, without their ends and without a byte order mark.

    Args:
        path: the file, plain or gzipped; "-" is standard input.
        name: what messages call it; the path unless given.

    Raises:
        DataError: naming file and line, for bad UTF-8 or broken gzip data.
    """
    name = name or ("standard input" if str(path) == "-" else str(path))
    number = 0
    with _opened(path, name) as stream:
        try:
            for number, raw in enumerate(stream, 1):
                if number == 1:
                    raw = raw.removeprefix(BOM)
                yield raw.removesuffix(b"\n").removesuffix(b"\r").decode()
        except UnicodeDecodeError as error:
            raise DataError(
                f"{name}:{number}: not UTF-8: byte 0x{error.object[error.start]:02x} at position "
                f"{error.start + 1} of the line; convert the file (iconv -t UTF-8)"
            ) from None
        except EOFError:
            raise DataError(
                f"{name}: the gzip data end too early, after line {number}; the file is cut off, "
                "fetch or write it again"
            ) from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise DataError(
                f"{name}: broken gzip data after line {number} ({error}); "
                "fetch or write the file again"
            ) from None


@contextmanager
def _opened(path: str | Path, name: str) -> Iterator[BinaryIO]:
    """The bytes of a file after unzipping, closed at the end (standard input stays open)."""
    if str(path) == "-":
        yield _unzipped(sys.stdin.buffer, name, named_gz=False)
        return
    try:
        raw = open(path, "rb", buffering=BUFFER_BYTES)  # noqa: SIM115 closed below
    except OSError as error:
        raise DataError(f"cannot read {name}: {error.strerror}; check the name") from None
    with raw:
        yield _unzipped(raw, name, named_gz=str(path).endswith(".gz"))


def _unzipped(raw: BinaryIO, name: str, named_gz: bool) -> BinaryIO:
    # A program that stands in for standard input may give a stream that cannot look ahead.
    if hasattr(raw, "peek") and raw.peek(2)[:2] == GZIP_MAGIC:
        # GzipFile finds lines slowly by itself; a buffer in front of it does so in C.
        return io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=raw)), BUFFER_BYTES)
    if named_gz:
        raise DataError(f"{name} is named .gz but holds no gzip data; unpack or rename it")
    return raw

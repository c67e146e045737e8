"""Lines or running text out of a file, a gzipped file or standard input.

Only "\\n" and "\\r\\n" end a line: Python's text mode would also break at a bare "\\r", and
`splitlines` at U+2028 and others, which puts parallel files out of step.
"""

import codecs
import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from headway.errors import DataError

BOM = b"\xef\xbb\xbf"
GZIP_MAGIC = b"\x1f\x8b"
BUFFER_BYTES = 1 << 16
PIECE_BYTES = 1 << 18  # of running text at a time


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
    with _opened(path, name) as stream, _explained(name, lambda: number):
        for number, raw in enumerate(stream, 1):
            if number == 1:
                raw = raw.removeprefix(BOM)
            try:
                text = raw.removesuffix(b"\n").removesuffix(b"\r").decode()
            except UnicodeDecodeError as error:
                raise DataError(
                    f"{name}:{number}: not UTF-8: byte 0x{error.object[error.start]:02x} at "
                    f"position {error.start + 1} of the line; convert the file (iconv -t UTF-8)"
                ) from None
            yield text


def read_pieces(path: str | Path, name: str | None = None) -> Iterator[tuple[str, int]]:
    """A UTF-8 file as one running text in pieces, each with the number of the line it begins in.

    Together the pieces are the whole text, line breaks included ("\\r\\n" becomes "\\n"). A piece
    ends before white space wherever there is some, so that words stay whole.

    Raises:
        DataError: naming file and line, for bad UTF-8 or broken gzip data.
    """
    name = name or ("standard input" if str(path) == "-" else str(path))
    decoder, rest, line, done = codecs.getincrementaldecoder("utf-8")(), "", 1, 0
    with _opened(path, name) as stream, _explained(name, lambda: line + rest.count("\n")):
        while raw := stream.read(PIECE_BYTES):
            rest += decoder.decode(raw.removeprefix(BOM) if not done else raw)
            done += len(raw)
            end = _last_word(rest)
            if end:
                piece = rest[:end].replace("\r\n", "\n")
                yield piece, line
                line, rest = line + piece.count("\n"), rest[end:]
        rest += decoder.decode(b"", final=True)
    if rest:
        yield rest.replace("\r\n", "\n"), line


def pieces_of(text: str, characters: int = PIECE_BYTES) -> Iterator[str]:
    """A long text in pieces that end as those of `read_pieces` do."""
    start = 0
    while len(text) - start > characters:
        piece = text[start : start + characters]
        end = _last_word(piece) or characters
        yield piece[:end]
        start += end
    yield text[start:]


def _last_word(text: str) -> int:
    """Where the last white space of a text begins; its end if there is none."""
    end = len(text)
    while end and not text[end - 1].isspace():
        end -= 1
    while end and text[end - 1].isspace():
        end -= 1
    return end or (0 if text[:1].isspace() else len(text))


@contextmanager
def _explained(name: str, line: Callable[[], int]) -> Iterator[None]:
    """Says in words, and near which line, that the bytes are no text."""
    try:
        yield
    except UnicodeDecodeError as error:
        broken = error.object[error.start] if error.start < len(error.object) else 0
        near = line() + bytes(error.object[: error.start]).count(b"\n")
        raise DataError(
            f"{name}:{near}: not UTF-8: byte 0x{broken:02x}; convert the file (iconv -t UTF-8)"
        ) from None
    except EOFError:
        raise DataError(
            f"{name}: the gzip data end too early, after line {line()}; the file is cut off, "
            "fetch or write it again"
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            f"{name}: broken gzip data after line {line()} ({error}); fetch or write the file again"
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

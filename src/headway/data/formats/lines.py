"""Lines or running text of a file, a gzipped file or standard input; parallel files.

Only "\\n" and "\\r\\n" end a line: Python's text mode also breaks at a bare "\\r", and
`splitlines` at U+2028 and others, which would misalign parallel files.
"""

import codecs
import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from ...errors import DataError, InputError
from ...file_limits import MAX_LINE, check_unpacked, max_line_bytes, refuse_named_pipe
from .format import CorpusFiles, FileFormat, Row

BOM = b"\xef\xbb\xbf"
GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC, OLE_MAGIC = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
SEEN_BYTES = 512
"""Bytes at the beginning of a file by which files that are no text are recognised."""
BUFFER_BYTES = 1 << 16
PIECE_BYTES = 1 << 18  # of running text at a time


def read_lines(path: str | Path, name: str | None = None) -> Iterator[str]:
    """The lines of a UTF-8 file, without their ends and without a byte order mark.

    Args:
        path: the file, plain or gzipped; "-" is standard input.
        name: its name in messages; by default the path.

    Raises:
        DataError: bad UTF-8, broken gzip data or a line beyond all bounds; the message names file
            and line.
    """
    for line in lines_or_errors(path, name):
        if isinstance(line, InputError):
            raise DataError(str(line))
        yield line


def lines_or_errors(path: str | Path, name: str | None = None) -> Iterator[str | InputError]:
    """As `read_lines`, with an error in place of a line with bad UTF-8 or beyond all bounds."""
    name = name or ("standard input" if str(path) == "-" else str(path))
    number, most = 0, max_line_bytes()
    with _opened(path, name) as stream, _explained(name, lambda: number):
        while raw := stream.readline(most + 1):
            number += 1
            if len(raw) > most:
                yield _too_long(f"{name}:{number}: the line", most)
                while raw and not raw.endswith(b"\n"):
                    raw = stream.readline(most)
                continue
            if number == 1:
                raw = raw.removeprefix(BOM)
            try:
                yield raw.removesuffix(b"\n").removesuffix(b"\r").decode()
            except UnicodeDecodeError as error:
                yield InputError(
                    f"{name}:{number}: not UTF-8: byte 0x{error.object[error.start]:02x} at "
                    f"position {error.start + 1} of the line; convert the file (iconv -t UTF-8)"
                )


def read_pieces(path: str | Path, name: str | None = None) -> Iterator[tuple[str, int]]:
    """A UTF-8 file as one running text in pieces, each with the number of its first line.

    Together the pieces are the whole text, line breaks included ("\\r\\n" becomes "\\n"). A piece
    ends before white space wherever there is some, so that words stay whole.

    Raises:
        DataError: bad UTF-8, broken gzip data, or white space beyond all bounds; the message names
            file and line.
    """
    name = name or ("standard input" if str(path) == "-" else str(path))
    decoder, pending, line, n_bytes = codecs.getincrementaldecoder("utf-8")(), "", 1, 0
    most = max_line_bytes()
    with _opened(path, name) as stream, _explained(name, lambda: line + pending.count("\n")):
        while raw := stream.read(PIECE_BYTES):
            pending += decoder.decode(raw.removeprefix(BOM) if not n_bytes else raw)
            n_bytes += len(raw)
            end = _last_word(pending)
            if end:
                piece = pending[:end].replace("\r\n", "\n")
                yield piece, line
                line, pending = line + piece.count("\n"), pending[end:]
            elif len(pending) > most:
                raise _too_long(f"{name}:{line}: a run of white space", most)
        pending += decoder.decode(b"", final=True)
    if pending:
        yield pending.replace("\r\n", "\n"), line


def _too_long(what: str, most: int) -> InputError:
    return InputError(
        f"{what} has more than {most} bytes; break it up, or set {MAX_LINE} to a larger number"
    )


def pieces_of(text: str, characters: int = PIECE_BYTES) -> Iterator[str]:
    """The pieces of a long text, which end before white space as those of `read_pieces`."""
    start = 0
    while len(text) - start > characters:
        piece = text[start : start + characters]
        end = _last_word(piece) or characters
        yield piece[:end]
        start += end
    yield text[start:]


def _last_word(text: str) -> int:
    """The start of the last white space of a text; its length if there is none."""
    end = len(text.rstrip())
    if end == len(text):
        start, *word = text.rsplit(None, 1) or [""]
        end = len(start) if word else 0
    return end or (0 if text[:1].isspace() else len(text))


@contextmanager
def _explained(name: str, line: Callable[[], int]) -> Iterator[None]:
    """Turns decoding errors into a DataError that names the line."""
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
    """The bytes of a file, unzipped; closed at the end, except standard input."""
    if str(path) == "-":
        yield _unzipped(sys.stdin.buffer, name, named_gz=False)
        return
    refuse_named_pipe(path, DataError)
    try:
        raw = open(path, "rb", buffering=BUFFER_BYTES)  # noqa: SIM115 closed below
    except OSError as error:
        raise DataError(f"cannot read {name}: {error.strerror}; check the name") from None
    with raw:
        yield _unzipped(raw, name, named_gz=str(path).endswith(".gz"))


def _unzipped(raw: BinaryIO, name: str, named_gz: bool) -> BinaryIO:
    # A replaced standard input may be a stream that cannot look ahead.
    start = raw.peek(SEEN_BYTES)[:SEEN_BYTES] if hasattr(raw, "peek") else b""
    if start[:2] == GZIP_MAGIC:
        # GzipFile splits lines slowly; a buffer in front of it does so in C.
        return io.BufferedReader(_Unzipped(raw, name), BUFFER_BYTES)
    if named_gz:
        raise DataError(f"{name} is named .gz but holds no gzip data; unpack or rename it")
    if problem := _no_text(start, name):
        raise DataError(f"{name} {problem}")
    return raw


def _no_text(start: bytes, name: str) -> str | None:
    """What a file is whose first bytes are no UTF-8 text, and the remedy; None if they may be."""
    if start[:4] == ZIP_MAGIC and (b"xl/" in start or name.lower().endswith((".xlsx", ".xlsm"))):
        return "is an Excel workbook; save it as CSV (UTF-8)"
    if start[:4] == ZIP_MAGIC:
        return "is a zip archive or an office document; unpack it, or save it as CSV (UTF-8)"
    if start[:4] == OLE_MAGIC:
        return "is an Excel workbook or another office document; save it as CSV (UTF-8)"
    return wrong_encoding("UTF-16") if start[:2] in UTF_16_MARKS else None


def wrong_encoding(encoding: str) -> str:
    """The end of a message about a file in another encoding."""
    return f"is {encoding}, not UTF-8; convert it: iconv -f {encoding} -t UTF-8 FILE > NEW"


class _CountedStream:
    """A stream that counts the bytes that are read from it; a pipe has no position."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.n_read = 0

    def read(self, size: int = -1) -> bytes:
        content = self._stream.read(size)
        self.n_read += len(content)
        return content


class _Unzipped(io.RawIOBase):
    """The unpacked bytes of a gzip stream; refuses one that grows beyond all bounds."""

    def __init__(self, packed: BinaryIO, name: str) -> None:
        self._name, self._packed = name, _CountedStream(packed)
        self._file = gzip.GzipFile(fileobj=cast(BinaryIO, self._packed))
        self._n_unpacked = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n = self._file.readinto(buffer)
        self._n_unpacked += n
        try:
            check_unpacked(self._packed.n_read, self._n_unpacked)
        except ValueError as error:
            raise DataError(
                f"{self._name}: {error}; unpack it (gunzip) and give the plain file if it is right"
            ) from None
        return n


def read_parallel(corpus: CorpusFiles) -> Iterator[Row]:
    """Rows of parallel files, one file for each column.

    Raises:
        DataError: a file ends before another.
    """
    streams = [read_lines(path, name) for name, path in corpus.files]
    number = 0
    while True:
        values = tuple(next(stream, None) for stream in streams)
        if None in values:
            break
        number += 1
        yield Row(values, f"{corpus.name}:{number}")
    _check_all_ended(corpus.files, values, number)


def _check_all_ended(
    files: list[tuple[str, Path]], values: tuple[str | None, ...], number: int
) -> None:
    longer = [name for (name, _), value in zip(files, values, strict=True) if value is not None]
    if longer:
        short = files[values.index(None)][0]
        rule = "parallel files need the same number of lines, each the partner of the other's"
        if not number:
            raise DataError(f"{short} is empty while {longer[0]} goes on; {rule}")
        raise DataError(f"{short} ends after line {number} while {longer[0]} goes on; {rule}")


def _running_text(corpus: CorpusFiles) -> Iterator[Row]:
    for text, line in read_pieces(corpus.path, corpus.name):
        yield Row((text,), f"{corpus.name}:{line}")


LINES = FileFormat(
    "each line a text of its own, in a file for each column", read_parallel, columns="each"
)
TEXT = FileFormat(
    "the whole file is one running text, line breaks included",
    _running_text,
    columns="one",
    rows="pieces",
)

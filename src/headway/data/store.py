"""The prepared store: examples as flat files of numbers, mapped into memory and never loaded whole.

A store is a folder: `meta.json`, and per column `NAME.data` (the values of all examples) and
`NAME.offsets` (the start of each example, and the end of the last), all little endian. It appears
whole or not at all, and has a digest of every file. Codecs know what the numbers mean.
"""

import copy
import hashlib
import json
import mmap
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Literal, Protocol

import numpy as np

from ..errors import DataError
from ..file_limits import refuse_named_pipe

if sys.platform == "win32":
    import msvcrt

    def _acquire(file: BinaryIO) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _acquire(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


FORMAT = 1
DIGEST = "digest"
OFFSETS = np.dtype("<u8")
DOCUMENT = "document"
"""The name of the column with the document number of each example, if there is one."""

# Mapped pages count as resident memory once they are touched, so each file releases its pages after
# about this much. Linux maps up to 64 KiB around every requested page.
RELEASE_BYTES = 32 << 20
FAULT_BYTES = 64 << 10
DONT_NEED: int | None = getattr(mmap, "MADV_DONTNEED", None)  # Windows releases pages by itself

LOCK_SECONDS = 0.05  # between two attempts at a lock that another process holds


@dataclass(frozen=True)
class Column:
    """The type of a column; `shape` is that of one step, () for a plain sequence."""

    name: str
    dtype: Literal["uint8", "uint16", "int32", "float32", "float64"]
    shape: tuple[int, ...] = ()

    @property
    def on_disk(self) -> np.dtype:
        return np.dtype(self.dtype).newbyteorder("<")


def integers(name: str, size: int) -> Column:
    """A column for ids from 0 to `size - 1`, as narrow as they allow."""
    return Column(name, "uint16" if size <= 1 << 16 else "int32")


class _Mapped:
    """A flat file as an array that releases the pages it has touched."""

    def __init__(self, path: Path, dtype: np.dtype, shape: tuple[int, ...]) -> None:
        self._map: mmap.mmap | None = None
        self._touched = 0
        if path.stat().st_size == 0:  # an empty file cannot be mapped
            self._array: np.ndarray = np.empty((0, *shape), dtype)
            return
        with open(path, "rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._array = np.frombuffer(self._map, dtype).reshape(-1, *shape)

    def span(self, start: int, stop: int) -> np.ndarray:
        values = self._array[start:stop]
        self._touch(values.nbytes + FAULT_BYTES)
        return values

    def gather(self, positions: np.ndarray, pieces: int) -> np.ndarray:
        """The values at `positions`, which form about `pieces` contiguous runs."""
        values: np.ndarray = self._array[positions]
        self._touch(values.nbytes + pieces * FAULT_BYTES)
        return values

    def gather_part(self, positions: np.ndarray, part: np.ndarray) -> np.ndarray:
        """As `gather`, but only one number of each row: `part` broadcasts to `positions`."""
        values: np.ndarray = self._array[positions, part]
        self._touch(values.nbytes * self._array.shape[1] + len(positions) * FAULT_BYTES)
        return values

    def _touch(self, size: int) -> None:
        self._touched += size
        if self._touched > RELEASE_BYTES and self._map is not None and DONT_NEED is not None:
            # The pages stay in the file cache of the system: touching them again is cheap.
            self._map.madvise(DONT_NEED)
            self._touched = 0


class Offsets(Protocol):
    """The starts of the examples, and the end of the last."""

    def span(self, start: int, stop: int) -> np.ndarray: ...

    def gather(self, positions: np.ndarray, pieces: int) -> np.ndarray: ...


class StoredColumn:
    """One column of an open store; `column[i]` is the array of example i."""

    def __init__(self, folder: Path, column: Column) -> None:
        data, offsets = _files(folder, column.name)
        self.column = column
        self._values = _Mapped(data, column.on_disk, column.shape)
        self.offsets: Offsets = _Mapped(offsets, OFFSETS, ())
        self._size = offsets.stat().st_size // OFFSETS.itemsize - 1

    def __len__(self) -> int:
        return self._size

    def with_offsets(self, offsets: Offsets, size: int) -> "StoredColumn":
        """The values divided into `size` other examples."""
        other = copy.copy(self)
        other.offsets, other._size = offsets, size
        return other

    def __getitem__(self, index: int) -> np.ndarray:
        if not 0 <= index < len(self):
            raise IndexError(f"example {index} of {len(self)}")
        start, stop = self.offsets.span(index, index + 2)
        return self._values.span(int(start), int(stop))

    def lengths(self, start: int = 0, stop: int | None = None) -> np.ndarray:
        """The lengths of the examples from `start` to `stop`; reads only the offsets."""
        stop = len(self) if stop is None else stop
        return np.diff(self.offsets.span(start, stop + 1).astype(np.int64))

    def joined(self, start: int, stop: int) -> np.ndarray:
        """The examples from `start` to `stop` as one array, which is mapped, not loaded."""
        first, last = (int(self.offsets.span(i, i + 1)[0]) for i in (start, stop))
        return self._values.span(first, last)

    def bounds(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows of all values at which some examples begin, and end (n,)."""
        starts = self.offsets.gather(indices, 1).astype(np.int64)
        return starts, self.offsets.gather(indices + 1, 0).astype(np.int64)

    def rows_at(self, rows: np.ndarray, part: np.ndarray | None = None) -> np.ndarray:
        """Rows (n, T) of all values, a copy (n, T, C).

        Args:
            part: the one number of a row to read, for each of the n; the result is (n, T, 1).
        """
        if part is None:
            return self._values.gather(rows, len(rows))
        return self._values.gather_part(rows, part[:, None])[..., None]

    def last_values(self) -> np.ndarray:
        """The last value of each example; no example may be empty."""
        ends = self.offsets.span(1, len(self) + 1).astype(np.int64)
        return self._values.gather(ends - 1, len(self))

    def take(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The examples at `indices`, concatenated, and the length of each."""
        indices = np.asarray(indices, np.int64)
        starts = self.offsets.gather(indices, len(indices)).astype(np.int64)
        lengths = self.offsets.gather(indices + 1, 0).astype(np.int64) - starts
        ends = np.cumsum(lengths)
        total = int(ends[-1]) if len(ends) else 0
        positions = np.arange(total) + np.repeat(starts - (ends - lengths), lengths)
        return self._values.gather(positions, len(indices)), lengths


class SelectedColumn(StoredColumn):
    """Some examples of a column, in their order."""

    def __init__(self, column: StoredColumn, rows: np.ndarray) -> None:
        self.column, self._whole, self._rows = column.column, column, rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> np.ndarray:
        if not 0 <= index < len(self):
            raise IndexError(f"example {index} of {len(self)}")
        return self._whole[int(self._rows[index])]

    def lengths(self, start: int = 0, stop: int | None = None) -> np.ndarray:
        return self._whole.lengths()[self._rows[start:stop]]

    def joined(self, start: int, stop: int) -> np.ndarray:
        rows = self._rows[start:stop]
        if len(rows) and (np.diff(rows) == 1).all():
            return self._whole.joined(int(rows[0]), int(rows[-1]) + 1)
        return self._whole.take(rows)[0]

    def last_values(self) -> np.ndarray:
        return self._whole.last_values()[self._rows]

    def take(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._whole.take(self._rows[np.asarray(indices, np.int64)])


class ArrayColumn:
    """A column in memory, with the part of `StoredColumn` that windows use."""

    def __init__(self, column: Column, examples: Sequence[np.ndarray]) -> None:
        self.column = column
        self._ends = np.cumsum([0, *map(len, examples)])
        empty = np.empty((0, *column.shape), column.dtype)
        self._values = np.concatenate([empty, *examples])

    def __getitem__(self, index: int) -> np.ndarray:
        return self._values[self._ends[index] : self._ends[index + 1]]

    def bounds(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._ends[indices], self._ends[indices + 1]

    def rows_at(self, rows: np.ndarray, part: np.ndarray | None = None) -> np.ndarray:
        if part is None:
            return self._values[rows]
        return self._values[rows, part[:, None]][..., None]

    def take(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        chosen = [self[int(index)] for index in indices]
        return np.concatenate([self._values[:0], *chosen]), np.array([len(one) for one in chosen])


class ArrayStore:
    """Examples in memory, with the part of `Store` that windows use."""

    def __init__(self, columns: Mapping[str, ArrayColumn], size: int) -> None:
        self._columns, self._size = dict(columns), size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, column: str) -> ArrayColumn:
        return self._columns[column]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self._columns)

    def lengths(self, column: str) -> np.ndarray:
        """The length of each example in one column."""
        starts, ends = self[column].bounds(np.arange(len(self)))
        return ends - starts


class Store:
    """An open store, read only: `store["source"][i]`, `len(store)`.

    Raises:
        DataError: the folder is no store, is damaged, or has another format number.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        meta = _read_meta(path)
        self.notes: dict[str, Any] = meta["notes"]
        self._size: int = meta["examples"]
        self._columns: dict[str, StoredColumn] = {}
        self._documents: np.ndarray | None = None
        for entry in meta["columns"]:
            column = Column(entry["name"], entry["dtype"], tuple(entry["shape"]))
            _check_sizes(path, column, self._size, entry["steps"])
            self._columns[column.name] = StoredColumn(path, column)
        self._digests: dict[str, str] = meta["digests"]

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, column: str) -> StoredColumn:
        return self._columns[column]

    def with_borders(self, offsets: Offsets, size: int, documents: np.ndarray | None) -> "Store":
        """The values divided into `size` other examples, with the same offsets in every column.

        Args:
            documents: the value of `documents` for the new examples, if there are documents.
        """
        other = copy.copy(self)
        other._documents, other._size = documents, size
        other._columns = {
            name: column.with_offsets(offsets, size)
            for name, column in self._columns.items()
            if name != DOCUMENT
        }
        return other

    def select(self, rows: np.ndarray) -> "Store":
        """The store of some examples only, in the order of `rows`."""
        other = copy.copy(self)
        other._documents, other._size = None, len(rows)
        other._columns = {name: SelectedColumn(c, rows) for name, c in self._columns.items()}
        return other

    @property
    def documents(self) -> np.ndarray:
        """The first example of each document, and the end of all (n + 1,)."""
        if self._documents is None:
            numbers, _ = self._columns[DOCUMENT].take(np.arange(len(self)))
            changes = np.diff(numbers, prepend=-1, append=len(self))
            self._documents = np.flatnonzero(changes)
        return self._documents

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self._columns)

    def verify(self) -> None:
        """Reads every file once and compares it with its digest.

        Raises:
            DataError: a file changed since it was written.
        """
        for name, digest in self._digests.items():
            if file_digest(self.path / name) != digest:
                raise DataError(
                    f"{self.path / name} is damaged: its digest is not the recorded one; "
                    f"remove {self.path} and prepare again"
                )

    def lengths(self, column: str, start: int = 0, stop: int | None = None) -> np.ndarray:
        """The lengths of the examples from `start` to `stop` in one column."""
        return self._columns[column].lengths(start, stop)


def _files(folder: Path, name: str) -> tuple[Path, Path]:
    return folder / f"{name}.data", folder / f"{name}.offsets"


def file_digest(path: Path) -> str:
    """The digest of a file's content."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, _new_hash).hexdigest()


def _new_hash() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=16)


def entries_digest(meta: Mapping[str, Any]) -> str:
    """The digest of all entries of a table but the digest itself."""
    rest = {name: value for name, value in meta.items() if name != DIGEST}
    text = json.dumps(rest, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _read_meta(path: Path) -> dict[str, Any]:
    refuse_named_pipe(path / "meta.json", DataError)
    try:
        meta: dict[str, Any] = json.loads((path / "meta.json").read_text("utf-8"))
        format_number = meta["format"]
        is_whole = meta.get(DIGEST) == entries_digest(meta)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise DataError(f"{path} is no prepared store; remove it and prepare again") from None
    if format_number != FORMAT:
        raise DataError(
            f"{path} has store format {format_number}, this headway reads {FORMAT}; prepare again"
        )
    if not is_whole:
        raise DataError(f"{path / 'meta.json'} is damaged; remove {path} and prepare again")
    return meta


def _check_sizes(folder: Path, column: Column, examples: int, steps: int) -> None:
    width = column.on_disk.itemsize * int(np.prod(column.shape, dtype=np.int64))
    expected = (steps * width, (examples + 1) * OFFSETS.itemsize)
    for path, size in zip(_files(folder, column.name), expected, strict=True):
        n_bytes = path.stat().st_size if path.exists() else 0
        if n_bytes != size or not path.exists():
            raise DataError(
                f"{path} has {n_bytes} bytes, expected {size}: the store is damaged; "
                f"remove {folder} and prepare again"
            )


class StoreWriter:
    """Writes a store piece by piece; it appears at `path` when the `with` block ends without error.

    Everything is written to `path.tmp`, flushed to the disk and then renamed. Two writers of one
    path must not run at once: hold `building(path)` around this.

    Args:
        columns: at least one.
    """

    def __init__(self, path: Path, columns: Sequence[Column]) -> None:
        self.path = path
        self.notes: dict[str, Any] = {}
        self._columns = {column.name: column for column in columns}
        self._folder = _temporary(path)
        self._examples = 0
        self._steps = dict.fromkeys(self._columns, 0)
        self._open: dict[str, tuple[_HashingFile, _HashingFile]] = {}

    def __enter__(self) -> "StoreWriter":
        with writing_to(self.path):
            self._folder.mkdir(parents=True)
            for name in self._columns:
                data, offsets = _files(self._folder, name)
                self._open[name] = (_HashingFile(data), _HashingFile(offsets))
                self._open[name][1].write(np.zeros(1, OFFSETS).tobytes())
        return self

    def append(self, examples: Mapping[str, Sequence[np.ndarray]]) -> None:
        """Adds examples: for each column one array per example."""
        counts = {len(arrays) for arrays in examples.values()}
        if examples.keys() != self._columns.keys() or len(counts) != 1:
            raise ValueError(f"expected as many arrays in each of {list(self._columns)}")
        if counts == {0}:
            return
        with writing_to(self.path):
            for name, arrays in examples.items():
                self._append_column(self._columns[name], arrays)
        self._examples += counts.pop()

    def _append_column(self, column: Column, arrays: Sequence[np.ndarray]) -> None:
        values = np.concatenate([np.asarray(array) for array in arrays])
        if values.shape[1:] != column.shape:
            raise ValueError(f"{column.name}: steps of {values.shape[1:]}, not {column.shape}")
        data, offsets = self._open[column.name]
        data.write(_narrowed(values, column).tobytes())
        ends = np.cumsum([len(array) for array in arrays]) + self._steps[column.name]
        offsets.write(ends.astype(OFFSETS).tobytes())
        self._steps[column.name] = int(ends[-1])

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if exc_type is None:
                with writing_to(self.path):
                    self._commit()
        finally:
            for file in self._files():
                file.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _commit(self) -> None:
        for written in self._files():
            written.finish()  # and close: Windows moves no folder with an open file in it
        entries = [asdict(c) | {"steps": self._steps[c.name]} for c in self._columns.values()]
        meta = {
            "format": FORMAT,
            "examples": self._examples,
            "columns": entries,
            "digests": {written.name: written.digest for written in self._files()},
            "notes": self.notes,
        }
        meta[DIGEST] = entries_digest(meta)
        with open(self._folder / "meta.json", "wb") as file:
            file.write(json.dumps(meta, ensure_ascii=False, indent=1).encode())
            _sync(file)
        _sync_folder(self._folder)
        os.rename(self._folder, self.path)
        _sync_folder(self.path.parent)

    def _files(self) -> Iterator["_HashingFile"]:
        for pair in self._open.values():
            yield from pair


class _HashingFile:
    """A file that is written once, with the digest of its content."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._file = open(path, "wb")  # noqa: SIM115
        self._hash = _new_hash()

    def write(self, content: bytes) -> None:
        self._file.write(content)
        self._hash.update(content)

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def finish(self) -> None:
        """Flushes to the disk and closes."""
        _sync(self._file)
        self._file.close()

    def close(self) -> None:
        # A full disk fails again when the buffer is flushed; the first failure is the one reported.
        with suppress(OSError):
            self._file.close()


def _narrowed(values: np.ndarray, column: Column) -> np.ndarray:
    if column.on_disk.kind != "f" and len(values):
        limits = np.iinfo(column.dtype)
        low, high = int(values.min()), int(values.max())
        if low < limits.min or high > limits.max:
            raise ValueError(f"{column.name}: {low} to {high} does not fit {column.dtype}")
    return values.astype(column.on_disk, copy=False)


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    if os.name == "nt":
        return  # Windows cannot open folders, and orders renames by itself
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def writing_to(path: Path) -> Iterator[None]:
    """Turns errors of the disk or of permissions into a DataError."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"cannot write prepared data to {path.parent}: {error.strerror}; "
            "free some space or set HEADWAY_CACHE to another folder"
        ) from error


def _temporary(path: Path) -> Path:
    return path.with_name(path.name + ".tmp")


@contextmanager
def building(path: Path) -> Iterator[None]:
    """Makes this process the only one that builds the store at `path`; others wait.

    The lock ends with its process, so what a killed build left behind, under this or another name
    in the same folder, is stale and is removed first.
    """
    with writing_to(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path, wait=True):
        for left in path.parent.glob("*.tmp"):
            other = left.with_name(left.name.removesuffix(".tmp"))
            if other == path:
                shutil.rmtree(left)
                continue
            with _locked(other, wait=False) as held:
                if held:
                    shutil.rmtree(left, ignore_errors=True)
        yield


@contextmanager
def _locked(path: Path, wait: bool) -> Iterator[bool]:
    lock = path.with_name(path.name + ".lock")
    refuse_named_pipe(lock, DataError)
    with writing_to(path):
        file = open(lock, "wb")  # noqa: SIM115 closed below
    with file:
        held = _try_lock(file)
        while wait and not held:
            time.sleep(LOCK_SECONDS)
            held = _try_lock(file)
        yield held


def _try_lock(file: BinaryIO) -> bool:
    try:
        _acquire(file)
    except (BlockingIOError, PermissionError):
        return False
    return True

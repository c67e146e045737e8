"""Files and directories that appear complete or not at all, whenever the process is killed.

Everything is written in a staging directory beside its target, synced to disk, and renamed. The
remains of a kill have names of their own, and `sweep` cleans them up. There must be one writer at a
time (`lock.py`); errors leave here as plain `OSError` (`disk_errors.py` explains them).
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NEW = ".new-"  # being written: incomplete until renamed
OLD = ".old-"  # the previous version, good until the new one has its name
GONE = ".gone-"  # being removed
LEFTOVERS = (NEW, OLD, GONE)


@contextmanager
def replacing_directory(target: Path) -> Iterator[Path]:
    """An empty directory to fill; on a clean exit it becomes `target`, otherwise it vanishes."""
    with _staging(target) as staging:
        yield staging
        for path in staging.rglob("*"):
            sync(path)
        sync(staging)
        _replace(staging, target)


@contextmanager
def replacing_file(target: Path) -> Iterator[Path]:
    """A path to write to; on a clean exit that file becomes `target`, otherwise it vanishes."""
    # A directory for one file, because libraries create temporary files beside their output, and
    # `sweep` must remove those after a kill.
    with _staging(target) as staging:
        path = staging / target.name
        yield path
        sync(path)
        os.replace(path, target)
    sync(target.parent)


def write_bytes(target: Path, content: bytes) -> None:
    with replacing_file(target) as path:
        path.write_bytes(content)


def remove_directory(target: Path) -> None:
    """Removes a directory; other processes see all of it or none of it."""
    gone = target.with_name(GONE + target.name)
    _discard(gone)
    os.replace(target, gone)
    _discard(gone)


def make_directory(path: Path) -> None:
    """Makes `path` and its missing parents, so that they survive a power cut."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        sync(folder.parent)


def sweep(folder: Path) -> None:
    """Cleans up after a killed writer in `folder`. Only the holder of the lock may do this."""
    for path in list(folder.iterdir()) if folder.is_dir() else []:
        if path.name.startswith(OLD):
            target = path.with_name(path.name.removeprefix(OLD))
            if not target.exists():
                os.replace(path, target)
                continue
        if path.name.startswith(LEFTOVERS):
            _discard(path)


def sync(path: Path) -> None:
    """Syncs a file or directory to disk."""
    if os.name == "nt" and path.is_dir():
        return  # Windows cannot open directories, and orders renames by itself
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _staging(target: Path) -> Iterator[Path]:
    make_directory(target.parent)
    staging = target.with_name(NEW + target.name)
    _discard(staging)
    try:
        staging.mkdir()
        yield staging
    finally:
        _discard(staging)


def _replace(staging: Path, target: Path) -> None:
    """Renames `staging` to `target`. Directories cannot be swapped: an old one is moved first."""
    former = target.with_name(OLD + target.name)
    _discard(former)
    if target.exists():
        os.replace(target, former)
    try:
        os.replace(staging, target)
    except BaseException:
        if former.exists():
            os.replace(former, target)
        raise
    sync(target.parent)  # before the former one is removed
    _discard(former)


def _discard(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)

"""The means to kill a process at every point of a write, and to compare what is left."""

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

# What Python reports when a program is about to change the file system.
CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.chmod"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def tensors_of(value: float) -> dict[str, torch.Tensor]:
    return {"weight": torch.full((2, 3), value), "count": torch.tensor(int(value))}


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below `folder` except the lock, with its content."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "lock"
    }


def kill_everywhere(folder: Path, action: Callable[[Path], None]) -> Iterator[tuple[int, Path]]:
    """Copies of `folder` in which `action` was killed before its 1st, 2nd, ... change of a file.

    Ends with the copy in which it went through.
    """
    for point in range(1, 1000):
        copy = folder.with_name(f"{folder.name}-{point}")
        if folder.exists():
            shutil.copytree(folder, copy)
        child = os.fork()
        if child == 0:
            _kill_self_at(point)
            action(copy)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        yield point, copy
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            return
        assert os.WTERMSIG(status) == signal.SIGKILL
    raise AssertionError("the action never ended")


def _kill_self_at(point: int) -> None:
    seen = 0

    def count() -> None:
        nonlocal seen
        seen += 1
        if seen == point:
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event in CHANGES or (event == "open" and int(arguments[2]) & WRITING):  # type: ignore
            count()

    os.fsync = lambda fd: count()
    sys.addaudithook(hook)

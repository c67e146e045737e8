import errno
import importlib.util
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from headway.errors import RunError
from headway.runs import lock as locks
from headway.runs.lock import locked

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def in_child(action: Callable[[int], None]) -> int:
    """The id of a process that runs `action(pipe)`, once it has written to the pipe."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            action(writer)
        finally:
            os._exit(0)
    os.close(writer)
    assert os.read(reader, 1) == b"x"
    os.close(reader)
    return child


def hold(path: Path) -> Callable[[int], None]:
    def action(pipe: int) -> None:
        with locked(path):
            os.write(pipe, b"x")
            time.sleep(60)

    return action


def end(process: int) -> None:
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def test_the_second_writer_is_told_who_is_first(tmp_path: Path) -> None:
    holder = in_child(hold(tmp_path / "lock"))
    try:
        with pytest.raises(RunError) as caught, locked(tmp_path / "lock"):
            pass
    finally:
        end(holder)
    assert str(caught.value) == (
        f"{tmp_path} is being written by process {holder} on {socket.gethostname()}; "
        "wait for it to end or stop it"
    )


def test_a_killed_holder_frees_the_lock(tmp_path: Path) -> None:
    end(in_child(hold(tmp_path / "lock")))
    with locked(tmp_path / "lock"):
        assert str(os.getpid()) in (tmp_path / "lock").read_text()


def test_a_worker_that_outlives_its_killed_parent_does_not_keep_the_lock(tmp_path: Path) -> None:
    identity = tmp_path / "worker"

    def hold_with_worker(pipe: int) -> None:
        with locked(tmp_path / "lock"):
            worker = os.fork()
            if worker == 0:
                time.sleep(60)
                os._exit(0)
            identity.write_text(str(worker))
            os.write(pipe, b"x")
            time.sleep(60)

    end(in_child(hold_with_worker))
    worker = int(identity.read_text())
    os.kill(worker, 0)  # it is alive
    try:
        with locked(tmp_path / "lock"):
            pass
    finally:
        os.kill(worker, signal.SIGKILL)


def test_a_forked_worker_does_not_free_the_lock_of_its_parent(tmp_path: Path) -> None:
    with locked(tmp_path / "lock"):
        worker = os.fork()
        if worker == 0:
            os._exit(0)
        os.waitpid(worker, 0)
        with pytest.raises(RunError, match=f"process {os.getpid()} on "), locked(tmp_path / "lock"):
            pass


def test_a_holder_that_has_not_signed_yet(tmp_path: Path) -> None:
    with locked(tmp_path / "lock"):
        (tmp_path / "lock").write_bytes(b"")
        with pytest.raises(RunError, match="by another process;"), locked(tmp_path / "lock"):
            pass


def test_the_lock_can_be_taken_again_and_again(tmp_path: Path) -> None:
    for _ in range(3):
        with pytest.raises(KeyError), locked(tmp_path / "lock"):
            raise KeyError


@pytest.mark.skipif(sys.platform == "win32", reason="needs flock")
def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", refuse)
    message = r"cannot be locked \(Function not implemented\); choose .* on a local disk"
    with pytest.raises(RunError, match=message), locked(tmp_path / "lock"):
        pass


def test_without_what_only_posix_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows: msvcrt in place of fcntl, no forks, locked bytes that nobody can read."""
    held: set[int] = set()

    def locking(handle: int, mode: int, n_bytes: int) -> None:
        assert os.lseek(handle, 0, os.SEEK_CUR) >= 1 << 20, "the signature must stay readable"
        if held:
            raise PermissionError(errno.EACCES, "locked")
        held.add(handle)

    windows = ModuleType("msvcrt")
    windows.LK_NBLCK, windows.locking = 2, locking  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "msvcrt", windows)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.delattr("os.register_at_fork")
    spec = importlib.util.spec_from_file_location("headway.runs.lock_elsewhere", locks.__file__)
    assert spec is not None
    assert spec.loader is not None
    elsewhere = importlib.util.module_from_spec(spec)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", "win32")
        spec.loader.exec_module(elsewhere)

    with elsewhere.locked(tmp_path / "lock"):
        assert len(held) == 1
        with (
            pytest.raises(RunError, match=f"is being written by process {os.getpid()} on "),
            elsewhere.locked(tmp_path / "lock"),
        ):
            pass


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_lock_that_is_no_file(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "lock")
    with pytest.raises(RunError, match=r"/lock is not a regular file; remove it and try again$"):
        locked(tmp_path / "lock").__enter__()

"""A disk that fails at any write of training: one line, exit code 1, nothing half-written.

After resuming, the bits are those of the run that met no fault.
"""

import builtins
import errno
import io
import mmap
import os
import random
import shutil
import sys
from pathlib import Path

import pytest
from five_kinds import RUN_FILES, write_kind
from runs_support import CHANGES, WRITING
from test_kill import check_same, log_every_update
from warm_process import WarmProcess, needs_fork

from headway.runs import RunDir
from headway.runs.atomic import LEFTOVERS

REMOVALS = {"os.remove", "os.rmdir"}
FAULTS = {
    "full": errno.ENOSPC,
    "broken": errno.EIO,
    "read-only": errno.EROFS,
    "forbidden": errno.EACCES,
    "short": errno.ENOSPC,
}
"""The error of each fault. `broken` happens once, `short` to one file, the others from then on."""


class FaultyDisk:
    """Makes the changes of files below a folder fail in this process, from a certain one on.

    Args:
        point: number of the change, from 1; 0 only counts.
    """

    def __init__(self, folder: Path, fault: str = "full", point: int = 0) -> None:
        self.folder, self.fault, self.point = str(folder), fault, point
        self.is_short = False
        self.shared = mmap.mmap(-1, 8)  # the parent reads the count

    @property
    def count(self) -> int:
        return int.from_bytes(self.shared[:8], "little")

    def install(self) -> None:
        log_every_update()
        fsync, self.open = os.fsync, io.open

        def failing_fsync(descriptor: int) -> None:
            self.change("os.fsync")
            fsync(descriptor)

        os.fsync = failing_fsync
        io.open = builtins.open = self.short_open
        sys.addaudithook(self.hook)

    def hook(self, event: str, arguments: tuple) -> None:
        is_opened = event == "open" and int(arguments[2]) & WRITING
        if (event in CHANGES or is_opened) and self.concerns(arguments[0]):
            self.change(event)

    def concerns(self, path: object) -> bool:
        return isinstance(path, str | os.PathLike) and os.fspath(path).startswith(
            (f"{self.folder}/", "run/", "run")
        )

    def change(self, event: str) -> None:
        """Counts a change and fails if it is due."""
        if event in REMOVALS:
            is_due = self.fault == "read-only" and 0 < self.point <= self.count
        else:
            self.shared[:8] = (self.count + 1).to_bytes(8, "little")
            is_due = 0 < self.point <= self.count
            if self.fault in ("broken", "short"):
                is_due = self.point == self.count
            if self.fault == "short" and event == "open":
                return  # `short_open` fails
        if is_due:
            code = FAULTS[self.fault]
            raise OSError(code, os.strerror(code))

    def short_open(self, file, mode="r", *arguments, **keywords):
        before = self.count
        opened = self.open(file, mode, *arguments, **keywords)
        # The due change may be one that writes nothing, such as `Path.touch`.
        is_due = self.fault == "short" and before < self.count and 0 < self.point <= self.count
        if is_due and not self.is_short:
            self.is_short = True
            return ShortFile(opened)
        return opened


class ShortFile:
    """A file that takes half of what is written to it."""

    def __init__(self, file) -> None:
        self.file = file

    def __getattr__(self, name):
        return getattr(self.file, name)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()

    def write(self, content):
        self.file.write(content[: len(content) // 2])
        self.file.flush()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def train(folder: Path, disk: FaultyDisk):
    is_begun = (folder / "run" / "run.toml").exists()
    arguments = ["resume", "run"] if is_begun else ["train", "run.toml", "--out", "run"]
    return WarmProcess(arguments, folder, prepare=disk.install).result()


def check_files(run: Path) -> None:
    """Every file that has its name is whole."""
    if not (run / "run.toml").exists():
        return
    directory = RunDir.open(run)
    for step in directory.checkpoints():
        directory.load_checkpoint(step)
    if (run / "model.safetensors").exists():
        directory.load_weights()
    directory.log.read()


def meet_faults(folder: Path, kind: str, n: int) -> int:
    """Trains with a fault at each of `n` moments, and resumes; returns the number of faults."""
    whole, draw = folder / "whole", random.Random(kind)
    write_kind(kind, whole)
    counting = FaultyDisk(whole)
    assert train(whole, counting).code == 0
    faults = list(FAULTS)
    for i in range(n):
        point = 1 + (i * counting.count + draw.randrange(counting.count)) // n
        fault = faults[i % len(faults)]
        faulty = folder / str(i)
        write_kind(kind, faulty)
        result = train(faulty, FaultyDisk(faulty, fault, point))
        what = f"{kind}, {fault} at change {point} of {counting.count}: {result.stderr[-500:]}"
        errors = [line for line in result.stderr.splitlines() if "error: " in line]
        assert result.code == 1, what
        assert len(errors) == 1, what
        assert "Traceback" not in result.stderr, what
        assert "this is a bug" not in result.stderr, what
        if fault != "read-only" and (faulty / "run").exists():
            assert not [p for p in (faulty / "run").rglob(".*") if p.name.startswith(LEFTOVERS)]
        check_files(faulty / "run")
        again = train(faulty, FaultyDisk(faulty))
        assert again.code == 0, f"{what}\n{again.stderr[-500:]}"
        check_same(faulty / "run", whole / "run")
        shutil.rmtree(faulty)
    return n


@needs_fork
def test_a_sample_of_faults(tmp_path):
    assert meet_faults(tmp_path, "tag", 5) == 5


@needs_fork
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", RUN_FILES)
def test_faults_at_all_stages_of_training(tmp_path, kind):
    """60 faults in runs of five kinds."""
    assert meet_faults(tmp_path, kind, 12) == 12

"""`headway` commands in forks of this process, which has imported everything: a start in no time.

Many starts are affordable only so; a cold one takes seconds. The parent must not have trained:
its threads would be missing in the fork.
"""

import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest
import torch
from pydantic import Field, TypeAdapter  # noqa: F401 - which typer imports late

from headway.cli import main

# What the commands import when they are called; most of the time of a cold start.
IMPORTED = (
    *("torch._dynamo", "jinja2", "sacrebleu.metrics"),
    *("headway.training.trainer", "headway.interop.export"),
    *("headway.inspection.report", "headway.inspection.run_info", "headway.cli.evaluate.command"),
    *("headway.inference.load", "headway.inference.evaluation", "headway.models.recurrent"),
    *("headway.models.transformer", "headway.models.decoder", "headway.models.encoder"),
)
for module in IMPORTED:
    import_module(module)
TypeAdapter(int)  # imports half of pydantic
gc.freeze()  # or each fork walks, and so copies, all of it

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="starts commands by fork")


@dataclass(frozen=True)
class Result:
    """The end of a command; a killed one has the negative number of its signal as code.

    Attributes:
        seconds: of computing; those of waiting depend on how busy the machine is.
    """

    code: int
    stdout: str
    stderr: str
    seconds: float


class WarmProcess:
    """A running command, with the methods of `subprocess.Popen` that tests need.

    Args:
        folder: the current folder of the command; its cache is `cache` there.
        typed: standard input.
        prepare: called in the new process before the command.
    """

    def __init__(
        self,
        arguments: list[str],
        folder: Path,
        typed: str = "",
        variables: Mapping[str, str] | None = None,
        prepare: Callable[[], None] = lambda: None,
    ) -> None:
        self.returncode: int | None = None
        self.seconds = 0.0
        self.folder = folder
        (folder / "stdin").write_text(typed, "utf-8")
        for name in ("stdout", "stderr"):
            (folder / name).write_bytes(b"")
        self.pid = os.fork()
        if self.pid == 0:
            code = 70
            try:
                os.environ.update({"HEADWAY_CACHE": str(folder / "cache"), **(variables or {})})
                os.environ.pop("HEADWAY_DATA", None)
                _redirect(folder)
                torch.set_num_threads(1)
                prepare()
                code = main(arguments)
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(code)

    def poll(self) -> int | None:
        """The exit code, None while the command runs."""
        if self.returncode is None:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
                self.seconds = usage.ru_utime + usage.ru_stime
        return self.returncode

    def wait(self, limit: float = 300.0) -> int:
        """The exit code; a command that takes longer than `limit` seconds is killed."""
        until = time.monotonic() + limit
        while self.poll() is None:
            if time.monotonic() > until:
                self.send_signal(signal.SIGKILL)
            time.sleep(0.004)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def result(self, limit: float = 300.0) -> Result:
        code = self.wait(limit)
        texts = [(self.folder / n).read_text("utf-8", "replace") for n in ("stdout", "stderr")]
        return Result(code, *texts, self.seconds)


def _redirect(folder: Path) -> None:
    os.chdir(folder)
    flags = os.O_WRONLY | os.O_TRUNC
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        descriptor = os.open(name, flags if number else os.O_RDONLY)
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 until the process ends
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115

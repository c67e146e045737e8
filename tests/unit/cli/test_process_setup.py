import subprocess
import sys

import pytest
import torch

from headway.cli import process_setup

# How often the kernel must hand out a page while a large block is taken and freed again and again.
COUNT_FAULTS = """
import resource
from headway.cli.process_setup import keep_freed_memory
kept = {keep} and keep_freed_memory()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    b"x" * (24 << 20), b"y" * (64 << 20)
print(kept, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(keep: bool) -> tuple[bool, int]:
    code = COUNT_FAULTS.format(keep=keep)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    kept, count = done.stdout.split()
    return kept == "True", int(count)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a setting of glibc")
def test_freed_blocks_are_used_again():
    kept, fewer = faults(keep=True)
    if not kept:
        pytest.skip("this C library is not glibc")
    _, many = faults(keep=False)
    assert fewer < many / 3


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_nothing_happens_elsewhere(monkeypatch, platform):
    monkeypatch.setattr(process_setup.sys, "platform", platform)
    monkeypatch.setattr(process_setup.ctypes, "CDLL", None)  # would fail if it were called
    assert process_setup.keep_freed_memory() is False


def test_other_c_libraries_are_left_alone(monkeypatch):
    monkeypatch.setattr(process_setup.sys, "platform", "linux")
    monkeypatch.setattr(process_setup.ctypes, "CDLL", lambda name: object())
    assert process_setup.keep_freed_memory() is False


SKIPPED = """
import sys
from headway.cli import process_setup
{before}
left_out = process_setup.skip_meta_kernels()
import torch
print(left_out, "torch._prims" in sys.modules, torch.nn.Linear(2, 2)(torch.ones(1, 2)).shape)
"""


def imported(before: str = "") -> str:
    command = [sys.executable, "-c", SKIPPED.format(before=before)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_meta_kernels_are_left_out_of_a_tested_torch_only():
    tested = torch.__version__.startswith(process_setup.TESTED_TORCH)
    assert imported() == f"{tested} {not tested} torch.Size([1, 2])\n"
    assert imported("process_setup.TESTED_TORCH = '0.'") == "False True torch.Size([1, 2])\n"
    assert imported("import torch") == "False True torch.Size([1, 2])\n", "it is too late then"


def test_a_process_ends_at_once_and_loses_nothing():
    program = (
        "import atexit, sys, threading, time\n"
        "from headway.cli.process_setup import end_process\n"
        "atexit.register(lambda: print('handler'))\n"
        "threading.Thread(target=lambda: (time.sleep(0.2), print('thread'))).start()\n"
        "print('output')\n"
        "end_process(7)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 7
    assert done.stdout.split() == ["output", "thread", "handler"]
    assert done.stderr == ""

import subprocess
import sys

import pytest

from headway.cli import allocator

# How often the kernel must hand out a page while a large block is taken and freed again and again.
COUNT_FAULTS = """
import resource
from headway.cli.allocator import keep_freed_memory
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
    monkeypatch.setattr(allocator.sys, "platform", platform)
    monkeypatch.setattr(allocator.ctypes, "CDLL", None)  # would fail if it were called
    assert allocator.keep_freed_memory() is False


def test_other_c_libraries_are_left_alone(monkeypatch):
    monkeypatch.setattr(allocator.sys, "platform", "linux")
    monkeypatch.setattr(allocator.ctypes, "CDLL", lambda name: object())
    assert allocator.keep_freed_memory() is False

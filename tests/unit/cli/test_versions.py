"""`headway --version`: installed versions, without importing torch."""

import subprocess
import sys
from importlib import metadata

import pytest

from headway.cli import versions

CPU = "__version__ = '2.13.0+cpu'\ncuda: Optional[str] = None\nhip: Optional[str] = None\n"
IN_ONE_LINE = "import sys, headway.cli as c; c.main(['--version']); print('torch' in sys.modules)"


@pytest.mark.parametrize(
    ("text", "build"),
    [
        (CPU, "CPU"),
        (CPU.replace("cuda: Optional[str] = None", "cuda: Optional[str] = '12.8'"), "CUDA 12.8"),
        (CPU.replace("hip: Optional[str] = None", "hip: Optional[str] = '6.4'"), "ROCm 6.4"),
        ("cuda = '11.8'", "CUDA 11.8"),
        ("", "CPU"),
    ],
)
def test_the_build_of_torch(text, build):
    assert versions.build(text) == build


def test_the_lines(monkeypatch):
    known = {"torch": "2.13.0+cpu", "fastapi": "1.0", versions.DISTRIBUTION: "0.1.0"}

    def version(name):
        if name not in known:
            raise metadata.PackageNotFoundError(name)
        return known[name]

    requires = [
        "torch<3,>=2.6",
        "fastapi<1,>=0.110; extra == 'serve'",
        'prometheus-client>=0.20; extra == "serve"',
        "pytest>=8.2; extra == 'test'",
    ]
    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(metadata, "requires", lambda name: requires)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    first, python, torch, *rest = versions.versions()
    assert first == "headway 0.1.0"
    assert python.startswith("Python 3.")
    assert torch.startswith("torch 2.13.0+cpu, ")
    assert torch.endswith(" build")
    assert rest == [
        "threads: 3",
        "extras:",
        "  serve  fastapi 1.0, prometheus-client (not installed)",
    ]


def test_a_source_tree_that_is_not_installed(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    monkeypatch.setattr(metadata, "requires", missing)
    lines = list(versions.versions())
    assert lines[0] == "headway unknown"
    assert lines[2] == "torch (not installed)"
    assert len(lines) == 4


@pytest.mark.parametrize("setting", ["", "0", "many"])
def test_threads_without_a_number(monkeypatch, setting):
    monkeypatch.setenv("OMP_NUM_THREADS", setting)
    assert versions.threads() >= 1


def test_torch_is_not_imported():
    command = [sys.executable, "-c", IN_ONE_LINE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"

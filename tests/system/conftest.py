"""Fixtures of system tests: commands in this process, a small trained run, a browser for pages.

Commands run in a `workdir`. The one here has reversed numbers and a run file; files with other data
or models have their own.
"""

import io
import os
import shutil
import sys
from pathlib import Path

import pytest
from cli_workdir import commands_in, run_file, train_runs

from headway.cli import main

CHROMIUM = os.environ.get("HEADWAY_CHROMIUM") or shutil.which("chromium")
IS_REQUIRED = os.environ.get("HEADWAY_BROWSER") == "required"
NONE = "no chromium: install it or set HEADWAY_CHROMIUM"
WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
SETS = {"train": range(60), "valid": range(100, 108), "test": range(200, 208)}
REVERSAL = run_file(
    {
        **{name: {"source": f"{name}.src", "target": f"{name}.tgt"} for name in SETS},
        "max_length": 24,
    },
    train={"steps": 40, "evaluate_every": 16, "lr": 0.01},
    search={"max_length": 12},
)
"""Numbers in words to the words backwards; the run files of commands that need no other."""


@pytest.fixture(scope="module")  # Playwright's event loop blocks those of other files
def chromium():
    """Debian's Chromium; without it tests are left out, or fail where HEADWAY_BROWSER=required."""
    if CHROMIUM is None:
        (pytest.fail if IS_REQUIRED else pytest.skip)(NONE)
    if IS_REQUIRED:
        from playwright import sync_api
    else:
        sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=[
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--no-first-run",
            ],
        )
        yield started
        started.close()


@pytest.fixture
def browser(chromium):
    """The browser; pages that a test leaves open are closed."""
    yield chromium
    for context in chromium.contexts:
        context.close()


def pytest_terminal_summary(terminalreporter):
    skipped = terminalreporter.stats.get("skipped", ())
    left_out = sum(NONE in str(report.longrepr) for report in skipped)
    if left_out:
        terminalreporter.write_line(f"LEFT OUT: {left_out} tests of pages in a browser ({NONE})")


def write_numbers(folder: Path) -> None:
    """Files of different numbers in words, and of their words backwards."""
    for name, numbers in SETS.items():
        rows = [[WORDS[i % 9], WORDS[i // 9 % 9], WORDS[i // 81 % 9]] for i in numbers]
        (folder / f"{name}.src").write_text("".join(f"{' '.join(row)}\n" for row in rows))
        (folder / f"{name}.tgt").write_text("".join(f"{' '.join(row[::-1])}\n" for row in rows))


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    """The current folder of commands, with the numbers and `run.toml`."""
    folder = tmp_path_factory.mktemp("numbers")
    write_numbers(folder)
    (folder / "run.toml").write_text(REVERSAL)
    with commands_in(folder):
        yield folder


@pytest.fixture(scope="session")
def reversal_run(tmp_path_factory):
    """A run of the numbers, trained once; tests use the copy that `trained` makes."""
    folder = tmp_path_factory.mktemp("trained")
    write_numbers(folder)
    with commands_in(folder):
        train_runs(run=REVERSAL)
    return folder / "run"


@pytest.fixture(scope="module")
def trained(workdir, reversal_run):
    """The run `run` in the workdir."""
    shutil.copytree(reversal_run, workdir / "run")


@pytest.fixture
def headway(workdir, capfd):
    """Runs a command: exit code, standard output, standard error."""

    def run(*arguments: str, typed: str | bytes | None = None) -> tuple[int, str, str]:
        with pytest.MonkeyPatch.context() as patch:
            if typed is not None:
                content = typed.encode() if isinstance(typed, str) else typed
                patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
            capfd.readouterr()
            code = main(list(arguments))
        return code, *capfd.readouterr()

    return run


@pytest.fixture
def fails(headway):
    """Runs a command that must fail with a code; returns the last line, which says why."""

    def run(code: int, *arguments: str, typed: str | bytes | None = None) -> str:
        got, stdout, stderr = headway(*arguments, typed=typed)
        assert (got, stdout) == (code, ""), stderr
        last = stderr.splitlines()[-1]
        assert last.startswith("headway: error: ")
        assert "Traceback" not in stderr
        return last.removeprefix("headway: error: ")

    return run

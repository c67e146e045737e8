"""What system tests share: commands in this process, and the browser that pages are looked at with.

Torch is imported once; each file that runs commands has a `place` for them.
"""

import io
import os
import shutil
import sys

import pytest

from headway.cli import main

CHROMIUM = os.environ.get("HEADWAY_CHROMIUM") or shutil.which("chromium")
IS_REQUIRED = os.environ.get("HEADWAY_BROWSER") == "required"
NONE = "no chromium: install it or set HEADWAY_CHROMIUM"


@pytest.fixture(scope="module")  # Playwright's event loop stands in the way of those of other files
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
    """The browser; what a test has opened is closed behind it."""
    yield chromium
    for context in chromium.contexts:
        context.close()


def pytest_terminal_summary(terminalreporter):
    skipped = terminalreporter.stats.get("skipped", ())
    left_out = sum(NONE in str(report.longrepr) for report in skipped)
    if left_out:
        terminalreporter.write_line(f"LEFT OUT: {left_out} tests of pages in a browser ({NONE})")


@pytest.fixture
def headway(place, capfd):
    """Runs a command: exit code, standard output, standard error."""

    def run(*arguments: str, typed: str | None = None) -> tuple[int, str, str]:
        with pytest.MonkeyPatch.context() as patch:
            if typed is not None:
                patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed.encode())))
            capfd.readouterr()
            code = main(list(arguments))
        return code, *capfd.readouterr()

    return run


@pytest.fixture
def fails(headway):
    """Runs a command that must fail with the code and end with one line, which is given back."""

    def run(code: int, *arguments: str, typed: str | None = None) -> str:
        got, stdout, stderr = headway(*arguments, typed=typed)
        assert (got, stdout) == (code, ""), stderr
        last = stderr.splitlines()[-1]
        assert last.startswith("headway: error: ")
        assert "Traceback" not in stderr
        return last.removeprefix("headway: error: ")

    return run

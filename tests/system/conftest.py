"""The browser that pages are looked at with."""

import os
import shutil

import pytest

CHROMIUM = os.environ.get("HEADWAY_CHROMIUM") or shutil.which("chromium")
IS_REQUIRED = os.environ.get("HEADWAY_BROWSER") == "required"
NONE = "no chromium: install it or set HEADWAY_CHROMIUM"

_left_out = []


@pytest.fixture(scope="session")
def chromium():
    """Debian's Chromium; without it tests are left out, or fail if HEADWAY_BROWSER=required."""
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


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.skipped and "chromium" in getattr(item, "fixturenames", ()):
        _left_out.append(item.nodeid)


def pytest_terminal_summary(terminalreporter):
    if _left_out:
        terminalreporter.write_line(
            f"LEFT OUT: {len(_left_out)} tests of pages in a browser ({NONE})"
        )

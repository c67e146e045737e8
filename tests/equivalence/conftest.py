"""Collects which equivalence was tried on which model, and prints the matrix at the end."""

from pathlib import Path

import pytest
from equivalence_cases import CASES
from equivalence_matrix import show

FOLDER = Path(__file__).parent


class Matrix:
    """What was collected, and what came out."""

    def __init__(self):
        self.collected = set()
        self.files = set()
        self.outcomes = {}

    @pytest.hookimpl(tryfirst=True)  # before -m and -k take items away
    def pytest_collection_modifyitems(self, items):
        for item in items:
            if item.path.parent == FOLDER:
                self.files.add(item.path)
                self.collected.update(cells(item))

    def pytest_runtest_logreport(self, report):
        for name, cell in report.user_properties:
            if name == "equivalence" and (report.when == "call" or not report.passed):
                self.outcomes.setdefault(tuple(cell), set()).add(report.outcome)

    def pytest_terminal_summary(self, terminalreporter):
        if self.outcomes:
            terminalreporter.section("equivalences")
            for line in show([case.name for case in CASES], self.outcomes):
                terminalreporter.write_line(line)


def cells(item):
    """The cells of the matrix that a test stands for."""
    return [tuple(mark.args) for mark in item.iter_markers("equivalence")]


def pytest_configure(config):
    config.addinivalue_line("markers", "equivalence(row, column): a cell of the matrix")
    config.pluginmanager.register(Matrix(), "equivalence-matrix")


def pytest_runtest_setup(item):
    item.user_properties += [("equivalence", cell) for cell in cells(item)]


@pytest.fixture
def matrix(pytestconfig):
    return pytestconfig.pluginmanager.get_plugin("equivalence-matrix")

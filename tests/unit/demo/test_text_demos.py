"""The demos with texts: which commands they suggest. `test_demo.py` runs them."""

from pathlib import Path

from headway.demo.text_demos import dates_demo
from headway.view.report import Sample

SMALL = {"steps": 6, "n_train": 30, "n_varied": 6, "n_valid": 2, "n_test": 3, "n_unseen": 1}


def test_commands_show_a_line_that_is_right() -> None:
    rows = [Sample("one", "2", expected="1", is_right=False), Sample("two", "2", is_right=True)]
    commands = dates_demo(**SMALL).commands(Path("run"), rows)
    assert commands[0].line == "echo two | headway translate run"
    assert dates_demo(**SMALL).commands(Path("run"), rows[:1])[0].line.startswith("echo one")

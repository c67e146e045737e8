"""What a demo must define."""

from pathlib import Path

import pytest

from headway.data.config import DataConfig
from headway.demo.base import Demo, DemoFindings
from headway.demo.demo import DEMOS
from headway.run_config import RunConfig
from headway.view.report import Command


class Quiet(Demo):
    """A demo that finds nothing."""

    def examine(self, model: object) -> DemoFindings:
        return DemoFindings({}, {}, [], [])

    def commands(self, run: Path, rows: object) -> list[Command]:
        return [Command(f"headway info {run}")]


def test_a_demo_defines_its_use() -> None:
    config = RunConfig(data=DataConfig(train="pairs.tsv"))
    facts = ("quiet", "Quiet", "Nothing.", config, lambda folder: None)
    with pytest.raises(TypeError, match="abstract"):
        Demo(*facts)  # type: ignore[abstract]
    demo = Quiet(*facts)
    assert demo.unit == "%"
    assert demo.examine(None).warnings == ()
    assert demo.commands(Path("run"), [])[0].line == "headway info run"


def test_the_names_of_the_demos() -> None:
    assert list(DEMOS) == ["dates", "pronounce", "forecast"]

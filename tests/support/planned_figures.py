"""The figures that the pages take from a line of a benchmark: `benchmarks/plan.toml`."""

import tomllib
from pathlib import Path

PLAN = Path(__file__).parents[2] / "benchmarks" / "plan.toml"


def planned_figures(name, line):
    """The figures in words; an error if the line lacks one of them."""
    figures = tomllib.loads(PLAN.read_text(encoding="utf-8"))[name]["figures"]
    return {key: form.format(**line) for key, form in figures.items()}

"""Recipes are whole run files that say what they reach; rungs of one ladder share their data."""

import re
import tomllib
from itertools import groupby
from pathlib import Path

import pytest

from headway.api import read_config

RECIPES = Path(__file__).parents[2] / "recipes"
ALL = sorted(RECIPES.rglob("*.toml"))
LADDER = sorted((RECIPES / "ladder").glob("*.toml"))
FIGURE = re.compile(r"(minutes?|seconds)\b.* \d+\.\d")  # a budget, and what came of it


def opening(path: Path) -> str:
    """The comment a recipe begins with, as one line."""
    lines = path.read_text("utf-8").splitlines()
    end = next(i for i, line in enumerate(lines) if not line.startswith("#"))
    return " ".join(line.removeprefix("#").strip() for line in lines[:end])


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_a_recipe_is_a_whole_run_file(path: Path) -> None:
    config = read_config(path)
    assert config.data.train is not None
    assert config.data.valid is not None
    assert config.data.test is not None


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_a_recipe_says_what_it_reaches_and_in_what_time(path: Path) -> None:
    assert FIGURE.search(opening(path)), f"{path.name} names no figure with its budget"


@pytest.mark.parametrize("path", LADDER, ids=lambda path: path.stem)
def test_a_recipe_names_itself_in_its_command(path: Path) -> None:
    assert f"headway train recipes/ladder/{path.name} " in opening(path)


@pytest.mark.parametrize(
    ("ladder", "paths"),
    [(name, list(paths)) for name, paths in groupby(LADDER, lambda p: p.stem.split("-")[0])],
)
def test_rungs_of_one_ladder_share_data_words_and_budget(ladder: str, paths: list[Path]) -> None:
    files = [tomllib.loads(path.read_text("utf-8")) for path in paths]
    networks = [file for file in files if "minutes" in file.get("train", {})]
    assert len(networks) > 1, ladder
    assert all(file["data"] == files[0]["data"] for file in files)
    for key in ("task", "text", "search"):
        assert all(file.get(key) == networks[0].get(key) for file in networks), key
    assert len({file["train"]["minutes"] for file in networks}) == 1

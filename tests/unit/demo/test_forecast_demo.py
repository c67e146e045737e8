"""The forecast demo with few years and few updates: everything but the score."""

import json
from collections.abc import Iterator

import pytest

from headway.demo import earth_rotation
from headway.demo.demo import DemoResult, run_demo
from headway.demo.forecast_demo import HORIZON, SHOWN_DAYS
from headway.inference.load import load


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoResult]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(earth_rotation, "FIRST_YEAR", 2014)
        yield run_demo("forecast", tmp_path_factory.mktemp("forecast") / "run", steps=3)


def test_scores_stand_beside_those_of_the_floors(result: DemoResult) -> None:
    own, *floors = result.scores
    assert own == "Test set: 1,402 windows of 1 series, 60 steps ahead"
    assert floors == [f"{name}, on the same windows" for name in ("naive", "seasonal", "ridge")]
    assert set(result.metrics) == {"mae_units", "mase", "coverage"} | {
        f"{metric}_{name}"
        for name in ("naive", "seasonal", "ridge")
        for metric in ("mae_units", "mase")
    }
    for scores in result.scores.values():
        assert scores["mae_units"].name == "MAE in units"
        assert "|n:1402|series:1|horizon:60|windows:all|" in scores["mae_units"].signature


def test_a_floor_that_is_better_is_named(result: DemoResult) -> None:
    own = result.metrics["mae_units"].value
    better = [
        n for n in ("naive", "seasonal", "ridge") if result.metrics[f"mae_units_{n}"].value < own
    ]
    assert len(result.findings.warnings) == bool(better)
    assert all(name in result.findings.warnings[0] for name in better)


def test_the_last_days_are_shown_beside_their_measurement(result: DemoResult) -> None:
    first, *_, last = result.rows
    assert first.source == "2024-11-02, 1 day ahead"
    assert last.source == "2024-12-31, 60 days ahead"
    assert first.expected == "10 µs"
    assert len(result.rows) == len(SHOWN_DAYS)
    assert all(row.is_right is None for row in result.rows)
    [remark] = result.findings.remarks
    assert remark.endswith(f"of {len(SHOWN_DAYS)} measurements above are in their interval")


def test_figures_for_scripts_are_json(result: DemoResult) -> None:
    figures = json.loads(json.dumps(result.to_dict()))
    assert figures["demo"] == "forecast"
    assert set(figures["metrics"]["mase_seasonal"]) == {"value", "low", "high", "signature"}


def test_the_run_forecasts_what_comes_after_the_data(result: DemoResult) -> None:
    assert load(result.run).task.config.horizon == HORIZON
    assert result.commands[0].line == f"headway forecast {result.run}"
    page = result.report.read_text(encoding="utf-8")
    assert "The length of the day" in page
    assert "2024-11-02, 1 day ahead" in page

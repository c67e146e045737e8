"""The demos as a user runs them, with their full data: the score and the time they promise."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow


def run(tmp_path: Path, *arguments: str) -> tuple[dict[str, Any], float]:
    """The figures of `headway demo` and its seconds, everything included."""
    environment = {**os.environ, "HEADWAY_CACHE": str(tmp_path / "cache")}
    environment.pop("OMP_NUM_THREADS", None)
    command = [sys.executable, "-m", "headway", "demo", *arguments, "--json"]
    started = time.perf_counter()
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "run")],
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1]), time.perf_counter() - started


def test_dates_reach_99_percent_within_three_minutes(tmp_path: Path) -> None:
    figures, seconds = run(tmp_path)
    assert figures["metrics"]["exact"]["signature"].startswith("exact|n:1000|")
    assert figures["metrics"]["exact"]["value"] >= 99.0
    assert figures["metrics"]["exact_unseen_languages"]["value"] >= 90.0
    assert figures["metrics"]["exact_unseen_patterns"]["value"] >= 90.0
    assert sum(row["is_right"] for row in figures["rows"]) >= len(figures["rows"]) - 2
    assert Path(figures["report"]).stat().st_size > 10_000
    assert seconds <= 180


def test_pronunciations_are_learned_in_minutes(tmp_path: Path) -> None:
    figures, seconds = run(tmp_path, "pronounce")
    assert figures["metrics"]["ser"]["value"] <= 38.0
    assert figures["metrics"]["wer"] == figures["metrics"]["ser"]  # the older name
    assert figures["metrics"]["per"]["value"] <= 10.0
    assert seconds <= 420


def test_the_length_of_the_day_beats_its_naive_forecasts(tmp_path: Path) -> None:
    figures, seconds = run(tmp_path, "forecast")
    error = {name: score["value"] for name, score in figures["metrics"].items()}
    assert error["mae_units"] < 0.75 * error["mae_units_seasonal"]
    assert error["mae_units"] < 0.5 * error["mae_units_naive"]
    assert error["mae_units"] < 1.05 * error["mae_units_ridge"]
    assert 80 < error["coverage"] < 96
    assert len(figures["rows"]) == 6
    assert "The length of the day" in Path(figures["report"]).read_text("utf-8")
    assert seconds <= 120

"""`headway demo` as a user runs it, with so little data that it takes a moment."""

import importlib
import json
import re
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def small_demo(monkeypatch):
    """The demo of dates with few dates and few updates."""
    from headway.demo import demo

    few = {"steps": 4, "n_train": 80, "n_varied": 8, "n_valid": 8, "n_test": 8, "n_unseen": 8}
    monkeypatch.setitem(demo.DEMOS, "dates", lambda: demo.dates_demo(**few))


def test_the_table_the_json_and_the_errors(headway, fails, small_demo, workdir):
    code, stdout, stderr = headway("demo", "--out", "demo")
    assert code == 0
    assert re.search(r"3\. März 2021 .+ \d+\.\d%", stdout)
    assert re.search(
        r"^Test set: 8 dates .+:\n  exact match 0\.00%  \[0\.00, ", stdout, re.MULTILINE
    )
    assert re.search(r"3\. März 2021 .+✗ wrong, correct:\s+2021-03-03", stdout)
    assert "✓ right" not in stdout
    assert "0 of 12 lines above are right\n" in stdout
    assert "report:  demo/report.html" in stdout
    assert "| headway translate demo  # Try inputs of your own." in stdout
    assert "step 4/4" in stderr
    code, stdout, _ = headway("demo", "--out", "demo2", "--json")
    assert code == 0
    figures = json.loads(stdout.splitlines()[-1])
    assert figures["run"] == "demo2"
    assert figures["metrics"]["exact"]["value"] == 0.0
    assert "demo already holds a run" in fails(1, "demo", "--out", "demo")
    assert fails(2, "demo", "datse").startswith("no demo 'datse'; expected one of dates, pronounce")


def test_the_benchmark_reports_the_range_over_seeds(small_demo, workdir, monkeypatch, capsys):
    monkeypatch.syspath_prepend(BENCHMARKS)
    demo_runs = importlib.import_module("demo_runs")
    assert demo_runs.main(["--seeds", "2"]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["seeds"] == 2
    assert figures["lowest"].keys() == {
        "exact",
        "exact_unseen_languages",
        "exact_unseen_patterns",
        "minutes",
    }
    for name, lowest in figures["lowest"].items():
        assert lowest <= figures["highest"][name]
    assert (figures["right"], figures["showcase"], len(figures["wrong"])) == (0, 24, 24)

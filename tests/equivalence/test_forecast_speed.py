"""The benchmark of forecasters: both train on the same windows, and the program ends with JSON."""

import importlib.util
import json
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import torch

FOLDER = Path(__file__).parents[2] / "benchmarks"
COLUMNS = 2

PEER = """
    import json, sys, torch
    settings = json.loads(sys.argv[2])
    model = settings["model"]
    print(json.dumps({"torch": torch.__version__, "threads": THREADS, "parameters": 7}), flush=True)
    for _ in sys.stdin:
        windows = settings["updates"] * model["windows_batch_size"]
        seconds = 1.0 + model["batch_size"] + model.get("res_attention", True)
        print(json.dumps({"windows": windows, "seconds": seconds}), flush=True)
"""


@pytest.fixture(scope="module")
def bench():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))  # where it finds `rounds`, as its processes do
        spec = importlib.util.spec_from_file_location(
            "forecast_speed", FOLDER / "forecast_speed.py"
        )
        module = importlib.util.module_from_spec(spec)
        patch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        yield module


@pytest.fixture
def toy(bench):
    before = torch.get_num_threads()
    yield bench.Setting(
        horizon=4,
        lookback=16,
        patch=4,
        d_model=8,
        d_ff=8,
        layers=1,
        n_heads=2,
        windows=8,
        split=(60, 20, 20),
        updates=2,
        trained=1,
        trainings=1,
    )
    torch.set_num_threads(before)


@pytest.fixture
def table(tmp_path):
    values = np.random.default_rng(1).normal(size=(100, COLUMNS)).cumsum(0)
    lines = ["date,a,b"]
    times = np.datetime64("2020-01-01T00", "h") + np.arange(100)
    lines += [f"{time}:00,{a:.4f},{b:.4f}" for time, (a, b) in zip(times, values, strict=True)]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def peer(tmp_path, threads):
    """A program with the answers of a trainer."""
    path = tmp_path / "peer.py"
    path.write_text(textwrap.dedent(PEER).replace("THREADS", str(threads)), "utf-8")
    return path


def test_the_program_ends_with_one_line_of_json(bench, toy, table, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench, "PROGRAM", peer(tmp_path, threads=1))
    arguments = [str(table), "--peer", sys.executable, "--rounds", "2", "--threads", "1"]
    assert bench.main(arguments, toy) == 0
    output = capsys.readouterr()
    (line,) = output.out.splitlines()
    result = json.loads(line)
    assert result["name"] == "forecast_speed"
    assert list(result["ratios"]) == [
        "headway/neuralforecast",
        "headway (recipe)/neuralforecast",
        "headway/neuralforecast (fused attention)",
        "headway/neuralforecast (all columns in an update)",
    ]
    assert all(ratio > 0 for ratio in result["ratios"].values())
    training = result["results"]["training"]
    assert training["fastest"] == "neuralforecast (fused attention)"
    assert training["windows_per_second"]["neuralforecast (fused attention)"] == 8.0
    assert result["ratios"]["headway/neuralforecast"] == pytest.approx(
        result["ratios"]["headway/neuralforecast (fused attention)"]
    )
    assert result["backtest_over_validation"].keys() == {"backtest", "backtest with floors"}
    assert result["results"]["backtest"]["windows"] == COLUMNS * (20 - 4 + 1)
    memory = result["results"]["memory"]
    assert memory["stride 1"]["windows"] == COLUMNS * (60 - 20 + 1)
    assert memory["stride 16"]["windows"] == COLUMNS * 3
    assert "round 2/2: headway" in output.err


def test_headway_trains_on_the_windows_of_the_series_that_the_peer_gets(
    bench, toy, table, tmp_path
):
    torch.set_num_threads(1)
    trainer = bench.Headway(bench.run_config(toy, table), tmp_path / "run")
    assert trainer.series.shape == (60, COLUMNS)
    np.testing.assert_allclose(trainer.series.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(trainer.series.std(0), 1, rtol=1e-5)
    windows, seconds = trainer.train(3)
    assert windows == 3 * toy.windows
    assert seconds > 0


def test_another_number_of_threads_is_refused(bench, toy, table, tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "PROGRAM", peer(tmp_path, threads=5))
    arguments = [str(table), "--peer", sys.executable, "--rounds", "1", "--threads", "1"]
    with pytest.raises(RuntimeError, match=r"not the same ground: .* with 5 threads"):
        bench.main(arguments, toy)


def test_wrong_usage(bench, capsys):
    with pytest.raises(SystemExit):
        bench.main(["table.csv"])
    assert "--peer" in capsys.readouterr().err

"""A forecaster starts as ridge regression, which is validated before the first update."""

import shutil

import numpy as np
import pytest
from forecast_runs import wave, write_wide

import headway

RUN = """
task = "forecast"
[data]
train = "waves.csv"
[forecast]
horizon = 12
lookback = 48
[model]
d_model = 16
d_ff = 32
n_heads = 2
layers = 1
[train]
steps = 4
evaluate_every = 2
batch_tokens = 768
lr = {lr}
"""


@pytest.fixture
def run_file(tmp_path):
    write_wide(tmp_path / "waves.csv", {"a": wave(600, noise=1.0), "b": wave(600, 36, 1.0, 1)})
    (tmp_path / "run.toml").write_text(RUN.format(lr=1e-3))
    return tmp_path / "run.toml"


def validations(model):
    return [record for record in model.run.log.read() if "mse" in record]


def test_the_start_is_validated_and_equals_the_ridge_regression(run_file, tmp_path):
    model = headway.train(headway.read_config(run_file), tmp_path / "run")
    head, tail = run_file.read_text().split("[model]")
    other = tmp_path / "ridge.toml"
    train = tail[tail.index("[train]") :]
    other.write_text(head + '[model]\nfamily = "ridge"\n' + train)
    ridge = headway.train(headway.read_config(other), tmp_path / "ridge")
    assert [record["step"] for record in validations(model)] == [0, 2, 4]
    assert validations(model)[0]["mse"] == pytest.approx(validations(ridge)[0]["mse"], rel=1e-5)


def test_without_progress_the_start_is_kept_and_said(run_file, tmp_path, capsys):
    from headway.cli.program import main

    out = str(tmp_path / "run")
    assert main(["train", str(run_file), "train.lr=3.0", "--out", out]) == 0
    assert headway.load(out).weights_info["step"] == "0"
    line = "the kept weights are those of the start, a fitted linear model"
    assert line in capsys.readouterr().err
    shutil.rmtree(tmp_path / "run" / "checkpoints" / "step-4")
    assert main(["resume", out]) == 0
    said = capsys.readouterr().err
    assert "continuing after step 2 of 4" in said
    assert line in said  # as if it had not been interrupted


def test_a_shortcut_can_be_switched_off(run_file, tmp_path):
    config = headway.read_config(run_file, ["model.shortcut=false"])
    model = headway.train(config, tmp_path / "run")
    assert [record["step"] for record in validations(model)] == [2, 4]
    assert "shortcut.weight" not in dict(model.model.named_parameters())


def test_quantiles_start_at_the_ridge_regression(run_file, tmp_path):
    config = headway.read_config(run_file, ["forecast.quantiles=[0.1, 0.5, 0.9]"])
    model = headway.train(config, tmp_path / "run")
    [forecast, _] = model.forecast(wave(100)[:, None].repeat(2, 1))
    assert len(forecast.values) == 12
    assert np.isfinite(forecast.values).all()

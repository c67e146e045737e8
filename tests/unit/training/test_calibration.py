"""The last step of a run: the calibration of the kept weights, in the run directory."""

import pytest
import torch
from cli_workdir import commands_in
from forecast_runs import all_windows, series, wave, write_wide

from headway import api
from headway.runs import RunDir
from headway.tasks.forecast_calibration import Calibration

RUN = """
task = "forecast"
device = "cpu"
[data]
train = "load.csv"
{valid}
[forecast]
horizon = 4
lookback = 24
[model]
{model}
"""
SMALL = (
    'family = "encoder"\nd_model = 16\nd_ff = 16\nn_heads = 2\nlayers = 1\n'
    "[train]\nsteps = 6\nevaluate_every = 2\nlr = 0.01"
)


@pytest.fixture
def train(tmp_path):
    write_wide(tmp_path / "load.csv", {"load": wave(300)})

    def run(model=SMALL, valid=""):
        (tmp_path / "run.toml").write_text(RUN.format(model=model, valid=valid))
        api.train(api.read_config(tmp_path / "run.toml"), tmp_path / "run")
        return RunDir.open(tmp_path / "run")

    with commands_in(tmp_path):
        yield run


def test_intervals_are_those_of_the_kept_weights(train):
    """Not of the last ones: fitted again with the loaded model, they are the same."""
    saved = train().load_calibration()
    model = api.load("run")
    windows = all_windows(model.task, [series(wave(300), ("load",))], (0.7, 0.8))
    fitted = Calibration.fit(model.task, model.model, windows).tensors()
    assert {"interval.0.8", "interval.0.9"} == set(fitted)
    for name, margins in fitted.items():
        torch.testing.assert_close(saved[name], margins, atol=1e-5, rtol=1e-4)
    assert saved["ridge.weight"].shape == (1, 24, 4)


def test_counting_models_have_intervals_too(train):
    saved = train('family = "seasonal"').load_calibration()
    assert {"interval.0.8", "interval.0.9", "ridge.weight"} <= set(saved)


def test_without_validation_data_there_are_floors_alone(train):
    saved = train(valid="valid = []").load_calibration()
    assert "ridge.weight" in saved
    assert not [name for name in saved if name.startswith("interval.")]
    assert api.load("run").calibration is None


def test_tasks_without_a_calibration_write_none(tmp_path):
    (tmp_path / "a.tsv").write_text("a b\tb a\nb\tb\na\ta\n")
    (tmp_path / "run.toml").write_text(
        'task = "translate"\ntext.kind = "words"\n[data]\ntrain = "a.tsv"\nvalid = "a.tsv"\n'
        "[model]\nd_model = 8\nd_ff = 8\nn_heads = 2\nencoder_layers = 1\ndecoder_layers = 1\n"
        "[train]\nsteps = 1\n"
    )
    with commands_in(tmp_path):
        api.train(api.read_config("run.toml"), "run")
    run = RunDir.open(tmp_path / "run")
    assert run.load_calibration() == {}
    assert not (run.path / "calibration.safetensors").exists()

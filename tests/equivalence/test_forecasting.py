"""Equivalences of forecasts: windows are a view, padding and batches change nothing, and runs that
are resumed, accumulated or computed by two processes are one.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch
from equivalence_runs import logged
from forecast_runs import NAN, all_windows, fitted, series, wave, write_wide
from test_processes import torchrun
from test_resumed import Crash, Stopping, check_same, check_tensors

from headway import api
from headway.models import FAMILIES, SequenceModel, build_model
from headway.nn.inputs import VectorInputConfig
from headway.runs import RunDir
from headway.training import loop
from headway.training.distributed import Processes
from headway.training.stop_signals import Interrupted
from headway.training.update import Updater

SMALL = {"d_model": 16, "dropout": 0.0}
ATTENTION = SMALL | {"d_ff": 16, "n_heads": 2}
PATCH = {"input": VectorInputConfig(patch=4)}
MODELS = {
    "encoder": ("encoder", ATTENTION | {"layers": 2, "pooling": "all"}),
    "encoder rotary": (
        "encoder",
        ATTENTION | {"layers": 1, "pooling": "mean", "positions": "rotary", "shortcut": False},
    ),
    "transformer": ("transformer", ATTENTION | {"encoder_layers": 1, "decoder_layers": 2}),
    "transformer rotary": (
        "transformer",
        ATTENTION | {"encoder_layers": 1, "decoder_layers": 1, "positions": "rotary"},
    ),
    "recurrent": ("recurrent", SMALL | {"bidirectional": True}),
    "recurrent lstm": ("recurrent", SMALL | {"cell": "lstm", "attention": "none", "layers": 2}),
    "recurrent bahdanau": ("recurrent", SMALL | {"attention": "bahdanau"}),
    "rnn": ("recurrent_encoder", SMALL | {"cell": "rnn", "pooling": "mean"}),
    "gru": ("recurrent_encoder", SMALL | {"cell": "gru"}),
    "lstm": ("recurrent_encoder", SMALL | {"cell": "lstm", "bidirectional": False}),
    "convolutional": ("convolutional", SMALL | {"encoder_layers": 1, "decoder_layers": 1}),
    "naive": ("naive", {}),
    "seasonal": ("seasonal", {}),
}
SHIFTED = ("encoder rotary", "transformer rotary", "recurrent", "recurrent lstm", "rnn", "lstm")
"""Models that depend on the distance of steps, not on their number in the window."""
SETTINGS = {"lookback": 24, "horizon": 10, "step": 4, "season": 6}


def model_of(name, task):
    family, settings = MODELS[name]
    made = FAMILIES[family].config(**settings | (PATCH if settings else {}))
    torch.manual_seed(0)
    model = build_model(made.resolve(100, task.vocabularies), task.vocabularies).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # parts that start at zero, too
            parameter += 0.05 * torch.randn_like(parameter)
    return model


def task_of(rows, **settings):
    return fitted(rows, **(SETTINGS | settings))


def gaps(values, share=0.1):
    found = values.copy()
    found[np.random.default_rng(9).random(len(values)) < share] = NAN
    return found


ROWS = [series(gaps(wave(90))), series(gaps(3 * wave(70, 12, seed=1))), series(wave(36, seed=2))]


@pytest.mark.parametrize("name", MODELS)
@torch.inference_mode()
def test_a_batch_of_windows_is_each_window_alone(name):
    task = task_of(ROWS)
    model, windows = model_of(name, task), all_windows(task, ROWS)
    whole = task.outputs(model, task.batch(windows, np.arange(len(windows))))
    for index in range(0, len(windows), 9):
        alone = task.outputs(model, task.batch(windows, np.array([index])))
        torch.testing.assert_close(whole[index], alone[0], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", ["encoder", "transformer", "gru", "seasonal"])
def test_a_backtest_is_the_same_for_any_batch_size(name, monkeypatch):
    task = task_of(ROWS)
    model, windows, found = model_of(name, task), all_windows(task, ROWS), []
    for size in (1, 7, 4096):
        monkeypatch.setattr("headway.tasks.forecast.EVALUATED", size)
        batches = list(task.backtest(model, windows))
        found.append(np.concatenate([batch.point for batch in batches]))
        firsts = np.concatenate([batch.places.first for batch in batches])
        assert firsts.tolist() == windows.places(np.arange(len(windows))).first.tolist()
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], atol=1e-4)


def with_covariates(row):
    """A series with covariates of the past and of the future."""
    known = wave(len(row) + 10, 12, seed=6)
    return {"target": row, "past": series(wave(len(row), 8, seed=7)), "known": series(known)}


@pytest.mark.parametrize("has_covariates", [False, True])
@pytest.mark.parametrize("name", MODELS)
@torch.inference_mode()
def test_what_is_padded_is_never_read(name, has_covariates):
    """A history of 8 steps: whatever stands in the 16 before it, the forecast is the same."""
    short = series(wave(18, seed=4))
    if has_covariates:
        task = task_of([with_covariates(row) for row in ROWS], calendar=["hour", "weekday"])
        rows = [with_covariates(short)]
    else:
        task, rows = task_of(ROWS), [short]
    model = model_of(name, task)
    windows = all_windows(task, rows)
    batch = task.batch(windows, np.array([0]))
    assert batch["src_valid"].sum() == 8 + (10 if has_covariates else 0)
    assert batch["src"].isfinite().all()
    noise = torch.randn_like(batch["src"])
    filled = torch.where(batch["src_valid"][..., None], batch["src"], noise)
    expected, found = (task.outputs(model, {**batch, "src": src}) for src in (batch["src"], filled))
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("name", SHIFTED)
@torch.inference_mode()
def test_a_padded_history_gives_the_forecast_of_the_history_alone(name):
    task = task_of(ROWS)
    model = model_of(name, task)
    windows = all_windows(task, [series(wave(18, seed=4))])
    batch = task.batch(windows, np.array([0]))
    alone = {**batch, "src": batch["src"][:, 16:], "src_valid": batch["src_valid"][:, 16:]}
    expected = task.outputs(model, alone)
    torch.testing.assert_close(task.outputs(model, batch), expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", [name for name in MODELS if "rec" in name or "tr" in name])
@pytest.mark.parametrize("settings", [{}, {"channels": "mixed"}, {"quantiles": [0.1, 0.5, 0.9]}])
@torch.inference_mode()
def test_a_decoder_that_steps_is_the_forward_pass_over_its_own_forecasts(name, settings):
    """Cached = uncached: the outputs of each step, read again as if they were the true values."""
    both = [series(np.stack([wave(90), wave(90, 12, seed=3)], axis=1))]
    rows = both if "channels" in settings else ROWS
    task = task_of(rows, **settings)
    model, windows = model_of(name, task), all_windows(task, rows)
    assert isinstance(model, SequenceModel)
    batch = task.batch(windows, np.arange(0, len(windows), 5))
    stepped = task._stepped(model, batch)  # (B, T, step * C * Q)
    n, n_steps, _ = batch["tgt_in"].shape
    assert n_steps == 3
    own = stepped.view(n, n_steps, -1, task.n_quantiles)[..., task.point]  # (B, T, step * C)
    read = torch.cat([batch["tgt_in"][:, :1], own[:, :-1]], dim=1)
    forced = model.output(model({**batch, "tgt_in": read}))
    torch.testing.assert_close(stepped, forced, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("apart", [True, False])
def test_the_view_of_windows_is_the_windows_written_out(apart):
    """Each window cut from the series by hand, as if it were a series of its own."""
    rows = [series(np.stack([gaps(wave(60)), wave(60, 12)], axis=1))]
    task = task_of(rows, channels="apart" if apart else "mixed", normalise="window")
    windows = all_windows(task, rows)
    indices = np.arange(len(windows))
    whole = task.batch(windows, indices)
    for index, first in zip(indices, windows.places(indices).first, strict=True):
        cut = replace(rows[0], values=rows[0].values[first - 24 : first + 10])
        written = all_windows(task, [cut])
        assert len(written) == (2 if apart else 1)
        number = int(windows.places(indices).channel[index])
        alone = task.batch(written, np.array([number]))
        for name, tensor in alone.items():
            assert torch.equal(tensor[0], whole[name][index]), name


# Runs

RUN = """
task = "forecast"
seed = 7
device = "cpu"
[data]
train = "wave.csv"
[forecast]
horizon = 6
lookback = 24
step = 4
quantiles = [0.1, 0.5, 0.9]
[model]
family = "{family}"
d_model = 16
dropout = 0.2
{more}
[train]
steps = 8
evaluate_every = 4
batch_tokens = 480
lr = 1e-3
ema = 0.9
metric = "mse"
warmup = 2
accumulate = {accumulate}
"""
HEADS = "d_ff = 16\nn_heads = 2\nattention_dropout = 0.1\n"
RUNS = {
    "encoder": HEADS + "layers = 1",
    "transformer": HEADS + "encoder_layers = 1\ndecoder_layers = 1",
    "recurrent": "",
    "recurrent_encoder": "layers = 2",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("forecasts")
    write_wide(path / "wave.csv", {"a": gaps(wave(400)), "b": 50 + wave(400, 12, seed=1)})
    return path


@pytest.fixture(autouse=True)
def surroundings(folder, monkeypatch):
    monkeypatch.setenv("HEADWAY_CACHE", str(folder / "cache"))
    monkeypatch.setattr(loop, "LOG_SECONDS", 0.0)


def run_file(folder, family, accumulate=2):
    path = folder / f"{family}-{accumulate}.toml"
    path.write_text(RUN.format(family=family, more=RUNS[family], accumulate=accumulate))
    return path


@pytest.mark.parametrize("family", RUNS)
def test_resumed_is_uninterrupted_bit_for_bit(folder, tmp_path, family):
    """Also the intervals and the floors, which are computed at the end."""
    config = api.read_config(run_file(folder, family))
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    api.train(config, whole)
    with pytest.raises(Interrupted):
        api.train(config, stopped, Stopping(3, "SIGTERM"))
    with pytest.raises(Crash):
        api.resume(stopped, Stopping(6, "crash"))
    api.resume(stopped)
    check_same(stopped, whole)
    tensors = [RunDir.open(path).load_calibration() for path in (stopped, whole)]
    assert {"interval.0.8", "interval.0.9", "ridge.weight"} <= set(tensors[0])
    check_tensors(*tensors)
    assert logged(stopped, "mae") == logged(whole, "mae")


def test_a_run_killed_before_its_intervals_computes_them(folder, tmp_path):
    """All updates are done, and the calibration is not."""
    config = api.read_config(run_file(folder, "encoder"))
    api.train(config, tmp_path / "run")
    run = RunDir.open(tmp_path / "run")
    expected = run.load_calibration()
    (run.path / "calibration.safetensors").unlink()
    api.resume(run.path)
    check_tensors(run.load_calibration(), expected)


@pytest.mark.parametrize("name", [name for name, (_, settings) in MODELS.items() if settings])
def test_accumulated_is_one_large_batch(name):
    """Micro-batches of unequal size, with gaps: each known target counts once."""
    task = task_of(ROWS)
    windows = all_windows(task, ROWS)
    batch = task.batch(windows, np.arange(0, len(windows), 7))
    counts = batch["values_valid"].sum((1, 2))
    assert counts.unique().numel() > 1
    updaters = []
    for parts in ([slice(None)], [slice(0, 3), slice(3, 4), slice(4, None)]):
        objective = task.objective(model_of(name, task), 0.0).train()
        optimizer = torch.optim.SGD(objective.parameters(), lr=0.1)
        updater = Updater(objective, optimizer, 5, 1.0, Processes(), workers=1)
        micro = [{k: tensor[part] for k, tensor in batch.items()} for part in parts]
        updaters.append((updater, updater(list(enumerate(micro)), 1, 0.1)))
    (one, whole), (other, accumulated) = updaters
    assert whole.losses["loss"] == pytest.approx(accumulated.losses["loss"], abs=1e-5)
    assert whole.norm == pytest.approx(accumulated.norm, rel=1e-4)
    for ours, theirs in zip(one.objective.parameters(), other.objective.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("family", ["encoder", "transformer"])
def test_two_processes_are_one(folder, tmp_path, family):
    file = run_file(folder, family)
    done = torchrun(folder, file, tmp_path / "two")
    assert done.returncode == 0, done.stderr
    assert RunDir.open(tmp_path / "two").facts["processes"] == 2
    api.train(api.read_config(file), tmp_path / "one")
    one, two = (logged(tmp_path / name, "valid_loss") for name in ("one", "two"))
    assert {4, 8} <= set(one)
    assert two == pytest.approx(one, abs=1e-5)
    ours, theirs = (RunDir.open(tmp_path / name).load_calibration() for name in ("one", "two"))
    assert ours.keys() == theirs.keys()
    for name, tensor in ours.items():
        torch.testing.assert_close(tensor, theirs[name], atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("family", ["encoder", "transformer"])
def test_a_forecast_is_the_backtest_of_the_same_window(folder, tmp_path, family):
    """`forecast` of the first 394 steps, and the last window of the test."""
    api.train(api.read_config(run_file(folder, family)), tmp_path / "run")
    model = api.load(tmp_path / "run")
    whole = series(np.stack([gaps(wave(400)), 50 + wave(400, 12, seed=1)], axis=1))
    windows = all_windows(model.task, [whole], (0.8, 1.0))
    last = windows.select(np.flatnonzero(windows.places(np.arange(len(windows))).first == 394))
    [batch] = model.task.backtest(model.model, last)
    expected = model.in_units(last, batch, batch.point)[..., 0]  # (2, H)
    made = model.forecast([replace(whole, values=whole.values[:394])])
    np.testing.assert_allclose([one.values for one in made], expected, rtol=1e-4)
    for (level, low, high), *intervals in zip(
        model.calibration.intervals(batch), *(one.intervals for one in made), strict=True
    ):
        ends = [model.in_units(last, batch, end)[..., 0] for end in (low, high)]
        assert {interval.level for interval in intervals} == {level}
        np.testing.assert_allclose([one.low for one in intervals], ends[0], rtol=1e-3)
        np.testing.assert_allclose([one.high for one in intervals], ends[1], rtol=1e-3)


def test_many_series_are_forecast_as_each_alone(folder, tmp_path):
    api.train(api.read_config(run_file(folder, "encoder")), tmp_path / "run")
    model = api.load(tmp_path / "run")
    rows = [
        series(np.stack([gaps(wave(n, seed=n)), 50 + wave(n, 12, seed=1)], axis=1), name=str(n))
        for n in (3, 24, 60, 200)
    ]
    together = model.forecast(rows, horizon=15)
    alone = [one for row in rows for one in model.forecast([row], horizon=15)]
    assert [(one.series, one.column) for one in together] == [(o.series, o.column) for o in alone]
    for ours, theirs in zip(together, alone, strict=True):
        np.testing.assert_allclose(ours.values, theirs.values, rtol=1e-4)
        assert ours.times == theirs.times

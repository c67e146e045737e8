"""Every family that forecasts learns a noisy wave in seconds, and is scored beside its floors."""

import json
import shutil

import numpy as np
import pytest
from cli_workdir import commands_in, run_file
from forecast_runs import NAN, wave, write_wide

SMALL = {"d_model": 64, "dropout": 0.0}
ATTENTION = SMALL | {"d_ff": 64, "n_heads": 2}
FAMILIES = {
    "encoder": {"family": "encoder"} | ATTENTION | {"layers": 1},
    "encoder learned": {"family": "encoder", "positions": "learned", "max_positions": 6}
    | ATTENTION
    | {"layers": 1},
    "encoder mean": {"family": "encoder", "pooling": "mean", "shortcut": False}
    | ATTENTION
    | {"layers": 1},
    "transformer": {"family": "transformer"}
    | ATTENTION
    | {"encoder_layers": 1, "decoder_layers": 1},
    "recurrent": {"family": "recurrent"} | SMALL,
    "recurrent none": {"family": "recurrent", "attention": "none"} | SMALL,
    "rnn": {"family": "recurrent_encoder", "cell": "rnn"} | SMALL,
    "gru": {"family": "recurrent_encoder", "cell": "gru"} | SMALL,
    "lstm": {"family": "recurrent_encoder", "cell": "lstm"} | SMALL,
    "convolutional": {"family": "convolutional"}
    | SMALL
    | {"encoder_layers": 1, "decoder_layers": 1},
}
COUNTING = {"naive": {"family": "naive"}, "seasonal": {"family": "seasonal"}}
RIDGE = {"ridge": {"family": "ridge"}}
SETTINGS = {"horizon": 12, "lookback": 48, "step": 4}


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learning")
    first, second = wave(500), 300 + 20 * wave(500, period=12, seed=1)
    write_wide(folder / "wave.csv", {"a": first, "b": second})
    gappy = first.copy()
    gappy[np.random.default_rng(2).random(500) < 0.1] = NAN
    gappy[200:215] = NAN
    wind = 5 + np.roll(first, 3)
    write_wide(folder / "rich.csv", {"a": gappy, "wind": wind, "sun": np.roll(first, 12)})
    with commands_in(folder):
        yield folder


@pytest.fixture
def scores(workdir, headway):
    """Trains and evaluates: the report of `evaluate`."""

    def run(model, data="wave.csv", steps=120, **settings):
        tables = {} if model["family"] in ("naive", "seasonal", "ridge") else {"train": {}}
        for table in tables.values():
            table |= {"steps": steps, "evaluate_every": steps, "lr": 3e-3}
        text = run_file(
            {"train": data}, model, task="forecast", forecast=SETTINGS | settings, **tables
        ).replace('text.kind = "words"\n', "")
        (workdir / "run.toml").write_text(text)
        shutil.rmtree(workdir / "run", ignore_errors=True)
        code, _, stderr = headway("train", "run.toml", "--out", "run")
        assert code == 0, stderr
        code, stdout, stderr = headway("evaluate", "run", "--json")
        assert code == 0, stderr
        return json.loads(stdout)

    return run


def value(scores, name="mse"):
    return scores[name]["value"]


@pytest.mark.parametrize("model", FAMILIES.values(), ids=FAMILIES)
def test_it_learns(scores, model):
    """Far better than repeating the last value; ridge is at 0.4% of its squared error."""
    report = scores(model)
    own, floors = value(report["metrics"]), report["floors"]
    assert set(floors) == {"naive", "seasonal", "ridge"}
    assert own < 0.015 * value(floors["naive"])
    assert report["n"] == 100 - 12 + 1  # the columns of a window count once
    assert 80 < value(report["metrics"], "coverage") < 98


@pytest.mark.parametrize("model", (COUNTING | RIDGE).values(), ids=COUNTING | RIDGE)
def test_counting_models_are_the_floors(scores, model):
    """A floor as the model scores what it scores as a floor."""
    name = model["family"]
    report = scores(model)
    assert name not in report["floors"]
    assert set(report["floors"]) == {"naive", "seasonal", "ridge"} - {name}
    other = scores(next(other for key, other in (COUNTING | RIDGE).items() if key != name))
    for metric in ("mse", "mae", "mae_units", "smape"):
        expected = value(other["floors"][name], metric)
        assert value(report["metrics"], metric) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", ["encoder", "transformer", "gru"])
@pytest.mark.parametrize(
    "settings",
    [
        {"channels": "mixed"},
        {"quantiles": [0.1, 0.5, 0.9]},
        {"normalise": "last", "scaling": "series"},
        {"normalise": "none", "loss": "mse"},
        {"step": 5},
        {"step": 100},
    ],
    ids=str,
)
def test_settings_of_windows(scores, name, settings):
    report = scores(FAMILIES[name], steps=60, **settings)
    assert value(report["metrics"]) < 0.2 * value(report["floors"]["naive"])
    assert set(report["floors"]) == {"naive", "seasonal", "ridge"}


@pytest.mark.parametrize("name", ["encoder", "transformer", "gru", "convolutional", "ridge"])
def test_gaps_covariates_and_a_calendar(scores, name):
    data = {"file": "rich.csv", "target": "a", "past": "wind", "known": "sun"}
    report = scores((FAMILIES | RIDGE)[name], data, calendar=["hour"])
    assert value(report["metrics"]) < 0.1 * value(report["floors"]["naive"])
    assert report["has_gaps"]
    assert "missing_targets:" in report["metrics"]["mse"]["signature"]


@pytest.mark.parametrize("calendar", [None, ["hour"]])
@pytest.mark.parametrize("name", ["encoder", "transformer", "recurrent", "lstm", "ridge"])
def test_many_series_of_different_length_and_scale(scores, workdir, name, calendar):
    draw, lines = np.random.default_rng(0), ["unique_id,ds,y"]
    for number in range(12):
        n, scale = int(draw.integers(70, 200)), 10.0 ** draw.integers(-2, 5)
        values = scale * wave(n, seed=number)
        days = np.datetime64("2024-01-01T00", "h") + np.arange(n)
        lines += [f"s{number},{d}:00,{v:.8g}" for d, v in zip(days, values, strict=True)]
    lines += [f"short,2024-01-01T0{hour}:00,{hour}" for hour in range(3)]
    (workdir / "many.csv").write_text("\n".join(lines) + "\n")
    facts = {} if calendar is None else {"calendar": calendar}
    report = scores((FAMILIES | RIDGE)[name], "many.csv", horizon=6, **facts)
    assert value(report["metrics"], "smape") < 0.5 * value(report["floors"]["naive"], "smape")
    assert value(report["metrics"], "mase") < 1.5

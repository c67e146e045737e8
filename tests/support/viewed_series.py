"""Small runs that forecast, to be looked at and served, and the file that they learn from."""

from pathlib import Path

import numpy as np
from forecast_runs import wave, write_wide

from headway import api

HISTORY, HORIZON, PATCH = 48, 12, 6
STEPS = 240
FILE = "power.csv"
COVARIATES = """known = ["heat", "open"], past = ["wind"]"""
SMALL = "d_model = 8\nd_ff = 8\nn_heads = 2\ninput = { patch = 6 }"
RUNS = {
    "plain": ("", 'channels = "mixed"', f"layers = 2\n{SMALL}"),
    "power": (COVARIATES, 'calendar = ["hour"]', f"layers = 2\n{SMALL}"),
    "steps": (
        "",
        "step = 4",
        f'family = "transformer"\nencoder_layers = 2\ndecoder_layers = 1\n{SMALL}',
    ),
    "still": ("", "", 'family = "recurrent_encoder"\nd_model = 8\nlayers = 1'),
}
"""Covariates, settings of the forecast, model."""


def write_power(path: Path) -> None:
    """Hours of `load` with a gap, `sun`, and what they depend on."""
    draw = np.random.default_rng(3)
    load = wave(STEPS, level=50.0)
    load[100:104] = np.nan
    load[-20:-17] = np.nan
    write_wide(
        path,
        {
            "load": load,
            "sun": wave(STEPS, seed=1, level=20.0),
            "heat": wave(STEPS, seed=2),
            "open": [("no", "yes")[hour % 24 > 8] for hour in range(STEPS)],
            "wind": draw.gamma(2.0, 2.0, STEPS),
        },
    )


def run_file(folder: Path, name: str) -> str:
    """The run file of one of `RUNS`."""
    covariates, forecast, model = RUNS[name]
    columns = ", ".join(filter(None, ['target = ["load", "sun"]', covariates]))
    return f"""task = "forecast"
[data]
train = {{ file = "{FILE}", {columns} }}
root = "{folder}"
[forecast]
horizon = {HORIZON}
lookback = {HISTORY}
{forecast}
[model]
{model}
[train]
steps = 4
evaluate_every = 4
"""


def make_forecast_runs(folder: Path, *names: str) -> None:
    """Trains some of the runs, all by default."""
    write_power(folder / FILE)
    for name in names or RUNS:
        path = folder / f"{name}.toml"
        path.write_text(run_file(folder, name))
        api.train(api.read_config(path), folder / name)

"""Memory does not grow with the number of windows: they are a view of the series.

The same series is trained on with a window at every step, and at every 16th. Each run is a process
of its own, from the file to the evaluation, and reports its peak resident memory.
"""

import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from forecast_runs import write_wide

STEPS, COLUMNS, LOOKBACK, HORIZON = 60_000, 5, 96, 24
WRITTEN_MB = STEPS * COLUMNS * (LOOKBACK + HORIZON) * 4 / 1e6
"""All windows at stride 1, written out in float32: 144 MB."""
ALLOWED_MB = 24

MEASURE = textwrap.dedent(
    """
    import json, sys
    from pathlib import Path
    from headway import api
    from headway.inference.evaluation import EvaluationOptions
    from headway.data.config import as_corpora

    def peak():
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024

    stride, out = sys.argv[1:]
    api.train(api.read_config("run.toml", [f"forecast.stride={stride}"]), out)
    figures = {"train": peak()}
    model = api.load(out)
    corpora = as_corpora(model.config.data.test, "data.test")
    report = model.evaluate_corpora(corpora, Path(), EvaluationOptions(metrics=["mse"]))
    print(json.dumps(figures | {"evaluate": peak(), "n": report.record["n"]}))
    """
)
RUN = f"""
task = "forecast"
device = "cpu"
data.train = "long.csv"
[forecast]
horizon = {HORIZON}
lookback = {LOOKBACK}
split = [0.8, 0.1, 0.1]
[model]
family = "encoder"
d_model = 16
d_ff = 16
n_heads = 2
layers = 1
[train]
steps = 20
evaluate_every = 20
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_does_not_grow_with_the_number_of_windows(tmp_path):
    draw = np.random.default_rng(0)
    table = {f"c{i}": np.cumsum(draw.normal(size=STEPS)) for i in range(COLUMNS)}
    write_wide(tmp_path / "long.csv", table)
    (tmp_path / "run.toml").write_text(RUN)
    environment = os.environ | {"HEADWAY_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    found = {}
    for number, stride in enumerate((16, 16, 1)):  # the first one also reads the file
        command = [sys.executable, "-c", MEASURE, str(stride), f"out-{number}"]
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True
        )
        found[stride] = json.loads(done.stdout)
    print(json.dumps(found))
    assert found[1]["n"] == COLUMNS * (6000 - HORIZON + 1)  # every window, whatever the stride
    assert WRITTEN_MB > 5 * ALLOWED_MB
    for stage in ("train", "evaluate"):
        assert found[1][stage] - found[16][stage] < ALLOWED_MB

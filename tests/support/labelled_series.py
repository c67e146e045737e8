"""Series with a class and with a value: two columns, several lengths, gaps; and runs of them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from headway import api

SHORTEST, LONGEST = 12, 30
RUNS = {
    "classes": ("classify", 'family = "encoder"\nlayers = 2\nd_model = 8\nd_ff = 8\nn_heads = 2'),
    "values": (
        "regress",
        'family = "encoder"\nlayers = 1\nd_model = 8\nd_ff = 8\nn_heads = 2\npooling = "first"\n'
        "input = { patch = 4, class_vector = true }",
    ),
    "recurrent": ("classify", 'family = "recurrent_encoder"\nlayers = 1\nd_model = 8'),
}
"""Task and model."""


def example(seed: int) -> tuple[np.ndarray, str, float]:
    """Values (T, 2) with a missing one, the class, and the slope of the first column."""
    draw = np.random.default_rng(seed)
    length = int(draw.integers(SHORTEST, LONGEST + 1))
    slope = float(draw.uniform(0.2, 1.0) * (1 if seed % 2 else -1))
    steps = np.arange(length)
    values = np.stack([slope * steps, 5 + draw.normal(size=length)], axis=1).round(3)
    values[int(draw.integers(1, length - 1)), seed % 2] = np.nan
    return values, "up" if slope > 0 else "down", slope


def ts_line(values: np.ndarray, label: object) -> str:
    """A line of a .ts file."""
    columns = (",".join("?" if np.isnan(x) else f"{x:g}" for x in column) for column in values.T)
    return ":".join([*columns, f"{label}"])


def ts_text(lines: Sequence[str]) -> str:
    """A .ts file of series with a class or a value."""
    header = "@problemName trends\n@univariate false\n@dimensions 2\n@targetlabel true\n@data\n"
    return header + "".join(f"{line}\n" for line in lines)


def write_labelled(folder: Path) -> None:
    """Writes training and test data: `TASK-train.ts` and `TASK-test.ts`."""
    for part, seeds in {"train": range(60), "test": range(100, 120)}.items():
        examples = [example(seed) for seed in seeds]
        for task, position in {"classify": 1, "regress": 2}.items():
            lines = [ts_line(each[0], each[position]) for each in examples]
            (folder / f"{task}-{part}.ts").write_text(ts_text(lines))


def run_text(name: str, steps: int = 4) -> str:
    """The run file of one of `RUNS`, with data in the current folder."""
    task, model = RUNS[name]
    return f"""task = "{task}"
[data]
train = "{task}-train.ts"
valid = "{task}-test.ts"
test = "{task}-test.ts"
[model]
{model}
[train]
steps = {steps}
evaluate_every = {steps}
lr = 0.01
"""


def make_labelled_runs(folder: Path, *names: str, steps: int = 4) -> None:
    """Trains some of the runs, all by default."""
    write_labelled(folder)
    for name in names or RUNS:
        path = folder / f"{name}.toml"
        path.write_text(run_text(name, steps))
        api.train(api.read_config(path, [f"data.root={folder}"]), folder / name)

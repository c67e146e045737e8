"""SIGTERM and Ctrl-C in every stage of training and of an export: heard at once, nothing lost.

The stage says that it has begun, and then never ends by itself.
"""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import headway
from headway.runs import RunDir

pytestmark = pytest.mark.slow

RUN = """
seed = 3
device = "cpu"
[data]
train = "train.tsv"
[text]
kind = "bpe"
size = 400
[model]
d_model = 16
d_ff = 16
n_heads = 2
encoder_layers = 1
decoder_layers = 1
dropout = 0.2
[train]
steps = 6
evaluate_every = 2
batch_tokens = 64
ema = 0.9
"""
STAGES = {
    "reading": "headway.data.held_out:_draw",
    "vocabulary": "headway.text.train:_train",
    "preparing": "headway.data.prepare:_write",
    "validation": "headway.tasks.translate:TranslationValidator.measure",
    "report": "headway.inspection.report:write_report",
}
# Each stage is replaced by one that reports its beginning and goes on for ever. The module is only
# imported, and the command is the user's.
HALTED = """
import importlib, sys, time
module, _, name = sys.argv.pop(1).partition(":")
owner = importlib.import_module(module)
*path, last = name.split(".")
for part in path:
    owner = getattr(owner, part)

def halt(*args, **kwargs):
    print("HERE", file=sys.stderr, flush=True)
    while True:
        time.sleep(0.01)

setattr(owner, last, halt)
from headway.cli import run
run()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data, a run file, and a run that was never stopped."""
    folder = tmp_path_factory.mktemp("signals")
    draw = random.Random(0)
    lines = ["".join(draw.choices("abcdefgh", k=draw.randint(2, 6))) for _ in range(300)]
    (folder / "train.tsv").write_text("".join(f"{line}\t{line[::-1]}\n" for line in lines), "utf-8")
    (folder / "run.toml").write_text(RUN, "utf-8")
    done = command(folder, "whole", ["-m", "headway", "train", "run.toml", "--out", "whole"])
    stderr = done.communicate(timeout=600)[1]
    assert done.returncode == 0, stderr
    return folder


def command(folder, name, arguments):
    source, known = Path(headway.__file__).parents[1], os.environ.get("PYTHONPATH", "")
    surroundings = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "HEADWAY_CACHE": str(folder / f"{name}-cache"),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(source), known])),
    }
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=folder, env=surroundings, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def stop_in(folder, name, stage, number, *arguments):
    """Sends a signal when the stage begins; returns exit code and last line of the error."""
    process = command(folder, name, ["-c", HALTED, stage, *arguments])
    for line in process.stderr:
        if line == "HERE\n":
            break
    else:
        pytest.fail(f"{stage} was not reached")
    process.send_signal(number)
    _, stderr = process.communicate(timeout=120)
    assert "Traceback" not in stderr
    return process.returncode, stderr.splitlines()[-1]


def leftovers(folder):
    return [path for path in folder.rglob("*") if path.name.startswith(".new-")]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("stage", STAGES)
def test_a_run_that_is_stopped_anywhere_ends_like_one_that_is_not(folder, stage, number):
    name = f"{stage}-{number}"
    train = ("train", "run.toml", "--out", name)
    code, message = stop_in(folder, name, STAGES[stage], number, *train)
    assert code == 128 + number
    again = ["-m", "headway", *train]
    if stage == "reading":
        assert message == "headway: error: stopped before the run started"
    else:
        assert message.endswith(f"continue with: headway resume {name}")
        again = ["-m", "headway", "resume", name]
    if stage == "validation":
        assert message.startswith("headway: error: stopped at step 2 of 6, saved; ")
    assert not leftovers(folder)
    process = command(folder, name, again)
    _, stderr = process.communicate(timeout=600)
    assert process.returncode == 0, stderr
    weights, expected = (RunDir.open(folder / run).load_weights()[0] for run in (name, "whole"))
    assert weights.keys() == expected.keys()
    assert all(torch.equal(weights[key], expected[key]) for key in expected)
    assert not leftovers(folder)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_measuring_the_speed_for_a_budget_in_minutes(folder, number):
    name = f"minutes-{number}"
    train = ("train", "run.toml", "train.steps=none", "train.minutes=1", "--out", name)
    code, message = stop_in(folder, name, "headway.training.plan:plan_minutes", number, *train)
    assert code == 128 + number
    assert message.endswith(f"continue with: headway resume {name}")


@pytest.mark.parametrize(
    ("number", "word"), [(signal.SIGTERM, "terminated"), (signal.SIGINT, "interrupted")]
)
def test_a_stopped_export_leaves_nothing(folder, number, word):
    stage = "headway.interop.export:check_hugging_face"
    code, message = stop_in(
        folder, "export", stage, number, "export", "whole", "--to", "hf", "--out", "exported"
    )
    assert (code, message) == (128 + number, f"headway: {word}")
    assert not (folder / "exported").exists()
    assert not leftovers(folder)

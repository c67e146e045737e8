"""SIGKILL at any moment, then resume: bit for bit the weights of the run that was never stopped.

The command runs as a user runs it, except that every update is logged, so that the moments can be
told from the outside: by files that appear and by lines of the log. Dropout (also of BPE merges),
accumulation, moving average, averaging of checkpoints and early stopping are on.
"""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

import headway
from headway.runs import RunDir

RUN = """
task = "translate"
seed = 3
device = "cpu"
[data]
train = "train.tsv"
valid = "valid.tsv"
[text]
size = 400
dropout = 0.1
[model]
d_model = 192
d_ff = 512
n_heads = 4
encoder_layers = 1
decoder_layers = 1
dropout = 0.2
attention_dropout = 0.1
[train]
steps = 300
evaluate_every = 6
evaluate_sample = 150
batch_tokens = 512
accumulate = 2
lr = 1e-3
ema = 0.95
average = 3
metric = "exact"
patience = 13
[search]
max_length = 20
"""
EVERY, AVERAGED, ENDS = 6, 3, 84  # nothing is right so early: the first validation stays the best
COMMAND = (
    "import sys; from headway.training import loop; loop.LOG_SECONDS = 0.0; "
    "from headway.cli import main; sys.exit(main())"
)


def write_data(folder):
    draw = random.Random(0)
    for name, n in (("train", 20_000), ("valid", 200)):
        lines = ["".join(draw.choices("abcdefghijkl", k=draw.randint(8, 16))) for _ in range(n)]
        text = "".join(f"{line}\t{line[::-1]}\n" for line in lines)
        (folder / f"{name}.tsv").write_text(text, "utf-8")
    (folder / "run.toml").write_text(RUN, "utf-8")


class Runner:
    """A run directory with a cache of its own, and the processes that work on it."""

    def __init__(self, folder, name):
        self.folder, self.out = folder, folder / name
        self.cache = folder / f"{name}-cache"
        self.output = folder / f"{name}.txt"
        self.stale, self.reached, self.started = b"", 0, 0.0
        source, known = Path(headway.__file__).parents[1], os.environ.get("PYTHONPATH", "")
        self.surroundings = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "HEADWAY_CACHE": str(self.cache),
            "PYTHONPATH": os.pathsep.join(filter(None, [str(source), known])),
        }

    def go(self):
        """Starts the run, or goes on with it if it had begun."""
        train = ["train", str(self.folder / "run.toml"), "--out", str(self.out)]
        begun = (self.out / "run.toml").exists()
        arguments = ["resume", str(self.out)] if begun else train
        with open(self.output, "w", encoding="utf-8") as output:
            return subprocess.Popen(
                [sys.executable, "-c", COMMAND, *arguments],
                env=self.surroundings,
                stdout=output,
                stderr=output,
            )

    def finish(self):
        assert self.go().wait(timeout=600) == 0, self.output.read_text("utf-8")[-2000:]

    def log(self):
        try:
            return (self.out / "log.jsonl").read_bytes()
        except FileNotFoundError:
            return b""

    def figures(self):
        """The last whole line that this process has logged."""
        content = self.log()
        lines = content.split(b"\n")
        if content == self.stale or len(lines) < 2:
            return {}
        return json.loads(lines[-2])

    def makes(self, folder, pattern):
        """Whether something of that name has been made by this process, and not by a killed one."""
        for path in folder.glob(pattern):
            try:
                if path.stat().st_mtime > self.started:
                    return True
            except FileNotFoundError:
                pass
        return False

    def latest(self):
        """The step of the newest checkpoint."""
        names = (path.name for path in (self.out / "checkpoints").glob("step-*"))
        return max((int(name.removeprefix("step-")) for name in names), default=0)

    def kill_when(self, moment, passed, delay):
        """Goes on, kills when the moment has come and the delay is over.

        Args:
            passed: checkpoints that must be written before the moment counts.
        """
        self.stale = self.log()
        self.reached = self.latest() + passed * EVERY
        self.started = time.time()
        process = self.go()
        until = time.monotonic() + 300
        while self.latest() < self.reached or not moment(self):
            assert process.poll() is None, f"ended by itself with {process.returncode}"
            assert time.monotonic() < until, "the moment never came"
            time.sleep(0.0002)
        time.sleep(delay)
        process.kill()
        assert process.wait() == -9, "it was over before the kill"


def starting(run):
    """The directory is there, the run file is not."""
    return run.out.exists()


def learning_vocabulary(run):
    return "learning the vocabulary" in run.output.read_text("utf-8")


def saving_vocabulary(run):
    return run.makes(run.out, ".new-codecs")


def building_store(run):
    return run.makes(run.cache / "stores", "*.tmp")


def training(run):
    figures = run.figures()
    return "loss" in figures and figures["step"] > run.reached


def validating(run):
    """An update that a validation follows is in the log; the validation is not."""
    return training(run) and run.figures()["step"] % EVERY == 0


def saving_checkpoint(run):
    return run.makes(run.out / "checkpoints", ".new-*")


def removing_checkpoint(run):
    return run.makes(run.out / "checkpoints", ".gone-*")


def saving_weights(run):
    return run.makes(run.out, ".new-model.safetensors")


MOMENTS = [  # which, after how many more checkpoints, how many seconds later
    (starting, 0, 0.0),
    (learning_vocabulary, 0, 0.0),
    (learning_vocabulary, 0, 0.02),
    (learning_vocabulary, 0, 0.05),
    (saving_vocabulary, 0, 0.0),
    (building_store, 0, 0.0),
    (building_store, 0, 0.05),
    (building_store, 0, 0.1),
    (training, 0, 0.0),
    (validating, 0, 0.02),
    (saving_weights, 0, 0.0),  # the first validation is the best one
    (saving_checkpoint, 0, 0.0),
    (training, 1, 0.1),
    (saving_checkpoint, 1, 0.005),
    (validating, 0, 0.05),
    (validating, 1, 0.0),
    (saving_checkpoint, 1, 0.015),
    (training, 1, "random"),
    (training, 0, "random"),
    (validating, 1, 0.1),
    (saving_checkpoint, 1, 0.03),
    (training, 1, "random"),
    (removing_checkpoint, 0, 0.0),
    (training, 1, "random"),
    (saving_weights, 0, 0.0),  # the average, when all else is done
]


def check_same(ours, theirs):
    one, other = RunDir.open(ours), RunDir.open(theirs)
    weights, rule = one.load_weights()
    expected, expected_rule = other.load_weights()
    assert rule == expected_rule
    check_tensors(weights, expected)
    assert one.checkpoints() == other.checkpoints()
    for step in one.checkpoints():
        check_tensors(one.load_checkpoint(step).tensors, other.load_checkpoint(step).tensors)
    for name in ("loss", "lr", "norm", "valid_loss", "bleu", "exact", "samples"):
        figures = [
            [(record["step"], record[name]) for record in run.log.read() if name in record]
            for run in (one, other)
        ]
        assert figures[0] == figures[1]


def check_tensors(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        assert torch.equal(value, theirs[name]), name


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_killed_again_and_again_and_resumed(tmp_path):
    write_data(tmp_path)
    whole = Runner(tmp_path, "whole")
    whole.finish()
    assert RunDir.open(whole.out).checkpoints()[-AVERAGED:] == [
        ENDS - 2 * EVERY,
        ENDS - EVERY,
        ENDS,
    ]

    killed, draw = Runner(tmp_path, "killed"), random.Random(1)
    assert len(MOMENTS) >= 20
    for moment, passed, delay in MOMENTS:
        killed.kill_when(moment, passed, draw.uniform(0, 0.5) if delay == "random" else delay)
    killed.finish()
    check_same(killed.out, whole.out)

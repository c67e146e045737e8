"""SIGKILL and SIGTERM at any moment, then resume: bit for bit the weights of the run that was never
stopped.

One long run is killed at chosen moments, told from the outside by files that appear and by lines of
the log. Short runs of five kinds are stopped at random moments. Every update is logged. Dropout
(also of BPE merges), accumulation, moving average, averaging of checkpoints and early stopping are
on.
"""

import json
import random
import signal
import time

import pytest
import torch
from five_kinds import RUN_FILES, write_kind
from warm_process import WarmProcess, needs_fork

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
KILLED = (-signal.SIGKILL, -signal.SIGTERM, 128 + signal.SIGTERM)


def write_data(folder):
    folder.mkdir()
    draw = random.Random(0)
    for name, n in (("train", 20_000), ("valid", 200)):
        lines = ["".join(draw.choices("abcdefghijkl", k=draw.randint(8, 16))) for _ in range(n)]
        text = "".join(f"{line}\t{line[::-1]}\n" for line in lines)
        (folder / f"{name}.tsv").write_text(text, "utf-8")
    (folder / "run.toml").write_text(RUN, "utf-8")


def log_every_update():
    from headway.training import loop

    loop.LOG_SECONDS = 0.0


class Runner:
    """A run in a folder with its data and its cache, and the processes that work on it."""

    def __init__(self, folder):
        self.folder, self.out, self.cache = folder, folder / "run", folder / "cache"
        self.output = folder / "stderr"
        self.stale, self.reached, self.started = b"", 0, 0.0

    def go(self):
        """Starts the run, or goes on with it if it had begun."""
        begun = (self.out / "run.toml").exists()
        arguments = ["resume", "run"] if begun else ["train", "run.toml", "--out", "run"]
        return WarmProcess(arguments, self.folder, prepare=log_every_update)

    def finish(self):
        """Goes on to the end; returns the seconds it took."""
        result = self.go().result(600)
        assert result.code == 0, result.stderr[-2000:]
        return result.seconds

    def kill_at_random(self, draw, seconds):
        """Goes on and is stopped within some seconds; whether it was not over before."""
        process = self.go()
        time.sleep(draw.uniform(0.0, seconds))
        process.send_signal(draw.choice([signal.SIGKILL, signal.SIGTERM]))
        code = process.wait()
        assert code in (0, *KILLED), self.output.read_text("utf-8")[-2000:]
        return code != 0

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
        process.send_signal(signal.SIGKILL)
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


@needs_fork
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_killed_again_and_again_and_resumed(tmp_path):
    for name in ("whole", "killed"):
        write_data(tmp_path / name)
    whole = Runner(tmp_path / "whole")
    whole.finish()
    assert RunDir.open(whole.out).checkpoints()[-AVERAGED:] == [
        ENDS - 2 * EVERY,
        ENDS - EVERY,
        ENDS,
    ]

    killed, draw = Runner(tmp_path / "killed"), random.Random(1)
    assert len(MOMENTS) >= 20
    for moment, passed, delay in MOMENTS:
        killed.kill_when(moment, passed, draw.uniform(0, 0.5) if delay == "random" else delay)
    killed.finish()
    check_same(killed.out, whole.out)


def kill_runs(folder, kind, n_runs, n_kills):
    """Stops runs of one kind at random moments, twice each or until they are over."""
    write_kind(kind, folder / "whole")
    whole, draw = Runner(folder / "whole"), random.Random(kind)
    seconds = whole.finish()
    runs = kills = 0
    while runs < n_runs or kills < n_kills:
        runs += 1
        assert runs < 5 * n_runs, "too few kills came in time"
        write_kind(kind, folder / str(runs))
        killed = Runner(folder / str(runs))
        was_killed = [killed.kill_at_random(draw, 0.7 * seconds)]
        if was_killed[0]:
            was_killed.append(killed.kill_at_random(draw, 0.5 * seconds))
        kills += sum(was_killed)
        killed.finish()
        check_same(killed.out, whole.out)
    print(f"{kind}: {kills} kills in {runs} runs")


@needs_fork
@pytest.mark.parametrize("kind", ["translate", "tag"])
def test_a_short_run_is_stopped_at_random(tmp_path, kind):
    kill_runs(tmp_path, kind, n_runs=1, n_kills=1)


@needs_fork
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", RUN_FILES)
def test_short_runs_are_stopped_at_random(tmp_path, kind):
    """100 kills in 50 runs of five kinds."""
    kill_runs(tmp_path, kind, n_runs=10, n_kills=20)

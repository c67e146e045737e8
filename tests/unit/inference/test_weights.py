"""Which weights of a run are loaded."""

import shutil
from pathlib import Path

import pytest
import torch

import headway
from headway.errors import ConfigError, RunError
from headway.inference.weights import load_weights
from headway.runs import RunDir

RUNS = Path(__file__).parents[2] / "compatibility" / "format-1"


@pytest.fixture
def run(tmp_path):
    """A run with a moving average, stopped at step 41; its best validation is that of step 40."""
    shutil.copytree(RUNS / "interrupted-translate", tmp_path / "run")
    return RunDir.open(tmp_path / "run")


def checkpoint(run, step):
    tensors = run.load_checkpoint(step).tensors
    return {n.removeprefix("average."): t for n, t in tensors.items() if n.startswith("average.")}


def equal(first, second):
    return first.keys() == second.keys() and all(torch.equal(first[n], second[n]) for n in first)


def test_by_default_those_that_the_run_kept(run):
    assert equal(load_weights(run)[0], run.load_weights()[0])


@pytest.mark.parametrize(("choice", "step"), [("last", 41), ("best", 40), ("20", 20)])
def test_those_of_a_checkpoint(run, choice, step):
    tensors, info = load_weights(run, choice)
    assert equal(tensors, checkpoint(run, step))
    assert info == {"rule": choice, "step": str(step)}
    model = headway.load(run.path, weights=choice)
    assert equal(dict(model.model.named_parameters()), checkpoint(run, step))
    assert model.weights_info["step"] == str(step)


def test_the_best_weights_outlive_their_checkpoint(run):
    kept = run.load_weights()[0]
    shutil.rmtree(run.path / "checkpoints" / "step-40")
    tensors, info = load_weights(run, "best")
    assert equal(tensors, kept)
    assert info["step"] == "40"


def test_low_rank_updates_are_merged(tmp_path):
    shutil.copytree(RUNS / "interrupted-translate-lora", tmp_path / "run")
    tensors, _ = load_weights(RunDir.open(tmp_path / "run"), "last")
    assert not any(".lora." in name for name in tensors)
    headway.load(tmp_path / "run", weights="last")


def test_a_step_that_is_not_there_is_named_with_those_that_are(run):
    with pytest.raises(RunError) as caught:
        load_weights(run, "7")
    assert str(caught.value) == (
        f"{run.path} has no checkpoint of step 7, only of 20, 40, 41; name one of them, or train "
        "with a larger train.keep"
    )


@pytest.mark.parametrize("choice", ["newest", "", "0", "-3", "1e3", "9" * 40])
def test_another_word_is_refused(run, choice):
    with pytest.raises(ConfigError, match="expected best, last or the number of a step"):
        load_weights(run, choice)


def test_a_run_without_checkpoints(tmp_path):
    shutil.copytree(RUNS / "language-markov-none", tmp_path / "run")
    with pytest.raises(RunError, match="has no checkpoints to take weights from"):
        load_weights(RunDir.open(tmp_path / "run"), "last")

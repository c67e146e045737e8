"""Resumed = uninterrupted, bit for bit: weights, every checkpoint, every logged figure.

Dropout (also of BPE merges), accumulation, moving average, averaging of checkpoints and early
stopping are all on; the run ends by early stopping, after 12 of 20 updates.
"""

import json
import os
import signal
from dataclasses import replace
from functools import partial

import pytest
import torch
from equivalence_cases import equivalence, is_family
from equivalence_runs import RUNNING, config_of, logged, write_data

from headway import api
from headway.models import FAMILIES
from headway.runs import RunDir
from headway.tasks.translate import TranslationValidator
from headway.training import loop, plan
from headway.training.progress import Silent
from headway.training.stop_signals import Interrupted

TRAIN = {
    "steps": 20,
    "evaluate_every": 4,
    "batch_tokens": 256,
    "accumulate": 2,
    "warmup": 3,
    "lr": 1e-3,
    "ema": 0.9,
    "average": 2,
    "metric": "exact",  # with `surroundings`, no validation is better than the first
    "patience": 2,
}
ENDS = 12
# Judged by the loss, which falls, a run trains to its planned end.
TO_THE_END = {**TRAIN, "steps": 8, "metric": "loss"}


def translates(case):
    return is_family(case) and case.has_source


class Crash(Exception):
    """A bug, a full disk, a pulled plug: nothing is saved."""


class Stopping(Silent):
    """Stops the run when it comes to a step: by a signal, or by crashing at a chosen moment."""

    def __init__(self, step, how):
        self.step, self.how = step, how

    def update(self, step, total, figures):
        if step == self.step and self.how == "crash":
            raise Crash
        if step == self.step and self.how in ("SIGINT", "SIGTERM"):
            os.kill(os.getpid(), getattr(signal, self.how))

    def validation(self, step, figures, is_best):
        if step == self.step and self.how == "crash in validation":
            raise Crash


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("resumed")
    write_data(path)
    return path


@pytest.fixture(autouse=True)
def surroundings(folder, monkeypatch):
    monkeypatch.setenv("HEADWAY_CACHE", str(folder / "cache"))
    monkeypatch.setattr(loop, "LOG_SECONDS", 0.0)  # every update in the log
    goodness = TranslationValidator.goodness

    def never_better(self, validation):
        is_loss = self.metric == "loss"
        return goodness(self, validation) if is_loss else validation.figures["valid_loss"]

    monkeypatch.setattr(TranslationValidator, "goodness", never_better)


def uninterrupted(folder, case):
    """Trained once per family."""
    out = folder / f"{case.family}-whole"
    if not out.exists():
        api.train(config_of(folder, case, TRAIN), out)
    return out


def check_same(ours, theirs, every=TRAIN["evaluate_every"]):
    one, other = RunDir.open(ours), RunDir.open(theirs)
    weights, metadata = one.load_weights()
    expected, expected_metadata = other.load_weights()
    assert metadata == expected_metadata
    check_tensors(weights, expected)
    assert [s for s in one.checkpoints() if s % every == 0] == other.checkpoints()
    for step in other.checkpoints():
        found, wanted = one.load_checkpoint(step), other.load_checkpoint(step)
        check_tensors(found.tensors, wanted.tensors)
        progress, wished = found.state["progress"], wanted.state["progress"]
        assert {**progress, "seconds": 0} == {**wished, "seconds": 0}
    for name in ("loss", "lr", "norm", "valid_loss", "bleu", "exact", "samples"):
        assert logged(ours, name) == logged(theirs, name)


def check_stopped_twice(config, folder):
    """Trains in `whole`, and with two stops in `stopped`."""
    whole, stopped = folder / "whole", folder / "stopped"
    api.train(config, whole)
    with pytest.raises(Interrupted):
        api.train(config, stopped, Stopping(3, "SIGTERM"))
    with pytest.raises(Crash):
        api.resume(stopped, Stopping(6, "crash"))
    api.resume(stopped)
    check_same(stopped, whole)


def check_tensors(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        assert value.dtype == theirs[name].dtype
        assert torch.equal(value, theirs[name]), name


@equivalence("resumed", "step", "score", only=translates)
def test_the_uninterrupted_run_ends_early_and_uses_everything(case, folder):
    run = RunDir.open(uninterrupted(folder, case))
    assert run.checkpoints()[-1] == ENDS
    assert list(logged(run.path, "loss")) == list(range(1, ENDS + 1))
    names = run.load_checkpoint(ENDS).tensors
    assert {name.split(".")[0] for name in names} == {"model", "optimizer", "average"}
    rule = run.load_weights()[1]["rule"]
    assert rule == "average of steps 8, 12, moving average 0.9"


@equivalence("resumed", "step", "score", only=translates)
@pytest.mark.parametrize(
    "stops",
    [
        [(6, "SIGTERM")],
        [(7, "crash")],
        [(8, "crash in validation")],
        [(2, "SIGINT"), (3, "crash"), (10, "SIGTERM"), (11, "crash")],
        [(1, "crash")],
    ],
    ids=lambda stops: ", ".join(f"{how} at {step}" for step, how in stops),
)
def test_resumed_is_uninterrupted(case, folder, tmp_path, stops):
    config, out = config_of(folder, case, TRAIN), tmp_path / "run"
    for number, (step, how) in enumerate(stops):
        go = partial(api.resume, out) if number else partial(api.train, config, out)
        with pytest.raises((Crash, Interrupted)) as caught:
            go(Stopping(step, how))
        if how.startswith("SIG"):
            assert f"stopped at step {step} of 20, saved" in str(caught.value)
            assert caught.value.exit_code == 128 + getattr(signal, how)
            assert RunDir.open(out).checkpoints()[-1] == step
    api.resume(out)
    check_same(out, uninterrupted(folder, case))


@equivalence("resumed", "step", "score", only=translates)
def test_resuming_a_finished_run_changes_nothing(case, folder):
    run = RunDir.open(uninterrupted(folder, case))
    before, rule = run.load_weights()
    api.resume(run.path)
    after, rule_after = run.load_weights()
    check_tensors(after, before)
    assert rule_after == rule
    assert run.checkpoints()[-1] == ENDS


@equivalence("resumed", "step", "score", only=translates)
def test_the_same_run_again_is_the_same_and_another_seed_is_not(case, folder, tmp_path):
    config = config_of(folder, case, TRAIN)
    api.train(config, tmp_path / "again")
    check_same(tmp_path / "again", uninterrupted(folder, case))
    api.train(replace(config, seed=8), tmp_path / "other")
    assert logged(tmp_path / "other", "loss") != logged(tmp_path / "again", "loss")


@equivalence("resumed", "step", "score", only=translates)
def test_a_budget_in_minutes_is_measured_once_and_then_a_number_of_updates(
    case, folder, tmp_path, monkeypatch
):
    """Killed and resumed, it is the run that was given this number from the beginning."""
    measured = []

    def measure(self, budget):
        for number in range(1, 4):
            self.update(number)  # must leave no trace
        measured.append(budget)
        return budget / 20

    monkeypatch.setattr(plan.Measure, "seconds_per_step", measure)
    budget = {"minutes": 2, "batch_tokens": 256, "accumulate": 2, "lr": 1e-3, "choose": "last"}
    out = tmp_path / "minutes"
    with pytest.raises(Crash):
        api.train(config_of(folder, case, budget), out, Stopping(5, "crash"))
    api.resume(out)
    assert measured == [120.0]

    planned = json.loads((out / "plan.json").read_text("utf-8"))
    assert 5 < planned["steps"] < 20
    assert max(logged(out, "loss")) == planned["steps"]
    given = {key: planned[key] for key in ("steps", "warmup", "evaluate_every")}
    steps = {key: value for key, value in budget.items() if key != "minutes"} | given
    api.train(config_of(folder, case, steps), tmp_path / "steps")
    check_same(out, tmp_path / "steps", every=1)


def is_language_model(case):
    return is_family(case) and not case.has_source


def only_gives_labels(case):
    """And learns by gradient; one that also writes is tried as such."""
    is_trained = FAMILIES[case.family].learns == "gradient"
    return is_family(case) and is_trained and "step" not in case.abilities


@equivalence("resumed", "classify", only=only_gives_labels)
def test_a_classifier_goes_on_where_it_stood(case, folder, tmp_path):
    check_stopped_twice(config_of(folder, case, TO_THE_END), tmp_path)
    assert len(logged(tmp_path / "whole", "accuracy")) == 2


@equivalence("resumed", "step", "score", only=lambda c: is_language_model(c) and not c.counts)
def test_a_language_model_goes_on_where_it_stood(case, folder, tmp_path):
    check_stopped_twice(config_of(folder, case, TO_THE_END), tmp_path)
    assert len(logged(tmp_path / "whole", "perplexity")) == 2


@equivalence("resumed", only=lambda case: case.name == "decoder")
def test_running_text_goes_on_where_it_was_cut(case, folder, tmp_path):
    check_stopped_twice(config_of(folder, case, TO_THE_END, RUNNING), tmp_path)
    assert RunDir.open(tmp_path / "whole").load_checkpoint(8).state["progress"]["epoch"] > 0


@equivalence("resumed", "step", "score", only=lambda c: is_language_model(c) and c.counts)
@pytest.mark.parametrize("moment", ["note", "validation", "samples"])
def test_what_was_counted_is_counted_again_unless_it_was_finished(case, folder, tmp_path, moment):
    class Crashing(Silent):
        """At the first call of this kind; the first note comes before the vocabulary."""

    def crash(*_, **__):
        raise Crash

    setattr(Crashing, moment, crash)
    config = config_of(folder, case, {})
    api.train(config, tmp_path / "whole")
    with pytest.raises(Crash):
        api.train(config, tmp_path / "stopped", Crashing())
    api.resume(tmp_path / "stopped")
    check_same(tmp_path / "stopped", tmp_path / "whole")
    assert len(logged(tmp_path / "stopped", "perplexity")) == 1
    assert RunDir.open(tmp_path / "stopped").log.read()[-1]["finished"]

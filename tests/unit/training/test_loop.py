"""The loop on a model of one weight: validations, checkpoints, the weights kept, early ends."""

import math
import os
import signal
import time
from dataclasses import replace
from itertools import count

import pytest
import torch
from torch import nn
from training_cases import ALONE, Recorder

from headway.errors import RunError
from headway.runs import RunDir
from headway.tasks.base import Objective, Validation, Validator
from headway.training import loop
from headway.training.config import TrainConfig
from headway.training.distributed import Processes
from headway.training.loop import TrainingJob, fit
from headway.training.state import MovingAverage, Progress
from headway.training.stop_signals import Interrupted
from headway.training.update import Updater

SETTINGS = {"lr": 1.0, "warmup": 0, "schedule": "constant", "accumulate": 1, "clip": 0.0}


class Falling(Objective):
    """The loss is the weight times x: each update takes x from the weight, which starts at 0."""

    def __init__(self):
        super().__init__(nn.Linear(1, 1, bias=False))
        nn.init.zeros_(self.model.weight)

    def counts(self, batch):
        return {"loss": len(batch["x"])}

    def sums(self, batch):
        return {"loss": (self.model.weight * batch["x"]).sum()}


class Ones:
    """Micro-batches in epochs of ten; all are 1, except those passed by number."""

    def __init__(self, **exceptions):
        self.exceptions = exceptions
        self.made = []

    def after(self, epoch, batch):
        for number in count(10 * epoch + batch):
            yield number // 10, number % 10 + 1, lambda number=number: self.make(number)

    def make(self, number):
        self.made.append(number)
        return {"x": torch.tensor([self.exceptions.get(f"x{number}", 1.0)])}


class Scripted(Validator):
    """A validator that returns the losses of a list, in order."""

    def __init__(self, *losses):
        super().__init__("loss", lower_is_better=True)
        self.losses = list(losses)
        self.weights = []

    def batches(self):
        return iter(())

    def examine(self, objective, limited):
        self.weights.append(objective.model.weight.item())
        return Validation({"valid_loss": self.losses[len(self.weights) - 1]}, [("a", "b", "c")])


def make_job(folder, validator=None, stream=None, processes=ALONE, ema=0.0, **settings):
    config = TrainConfig(**(SETTINGS | settings), ema=ema)
    objective = Falling()
    optimizer = torch.optim.SGD(objective.parameters(), lr=1.0)
    run = RunDir.create(folder / "run", {}, "")
    return TrainingJob(
        run=run,
        config=config,
        batches=stream or Ones(),
        model=objective.model,
        updater=Updater(objective, optimizer, seed=1, clip=0.0, processes=ALONE),
        average=MovingAverage(objective.model, ema) if ema else None,
        validator=validator,
        processes=processes,
        display=Recorder(),
        progress=Progress(),
    )


def kept(job):
    """The weight to use, and the rule that chose it."""
    tensors, metadata = job.run.load_weights()
    return tensors["weight"].item(), metadata["rule"]


def test_every_validation_ends_with_a_checkpoint(tmp_path):
    job = make_job(tmp_path, Scripted(3.0, 1.0, 2.0), steps=5, evaluate_every=2)
    fit(job)
    assert job.validator.weights == [-2.0, -4.0, -5.0]
    assert job.run.checkpoints() == [2, 4, 5]
    assert job.progress.step == job.progress.tokens == 5
    figures = [
        (step, figures["valid_loss"], best) for step, figures, best in job.display.validations
    ]
    assert figures == [(2, 3.0, True), (4, 1.0, True), (5, 2.0, False)]
    validations = [record for record in job.run.log.read() if "valid_loss" in record]
    assert [record["step"] for record in validations] == [2, 4, 5]
    assert validations[0]["samples"] == [["a", "b", "c"]]


def test_the_weights_of_the_best_validation_are_kept(tmp_path):
    job = make_job(tmp_path, Scripted(3.0, 1.0, 2.0), steps=6, evaluate_every=2)
    fit(job)
    assert kept(job) == (-4.0, "best by loss")
    assert (job.progress.best, job.progress.best_step, job.progress.worse) == (-1.0, 4, 1)


class Scored(Scripted):
    """Judges by a metric; each validation is (metric, loss)."""

    def __init__(self, *figures):
        super().__init__(*figures)
        self.metric, self.lower_is_better = "bleu", False

    def examine(self, objective, limited):
        self.weights.append(objective.model.weight.item())
        bleu, loss = self.losses[len(self.weights) - 1]
        return Validation({"valid_loss": loss, "bleu": bleu}, [])


def test_the_loss_decides_between_equal_scores(tmp_path):
    job = make_job(
        tmp_path, Scored((0.0, 3.0), (0.0, 1.0), (0.0, 2.0)), steps=6, evaluate_every=2, patience=1
    )
    fit(job)
    assert kept(job) == (-4.0, "best by bleu")
    assert job.display.notes[-1] == (
        "warning: the best validation has bleu 0; train longer, or set train.metric to one that "
        "fits the targets"
    )


def test_patience_does_not_end_a_run_whose_loss_still_falls(tmp_path):
    validator = Scored((0.0, 3.0), (0.0, 2.0), (0.0, 1.0), (5.0, 1.0))
    job = make_job(tmp_path, validator, steps=8, evaluate_every=2, patience=1)
    fit(job)
    assert job.progress.step == 8
    assert kept(job) == (-8.0, "best by bleu")


def test_a_run_that_never_gets_better_than_its_first_validation_says_so(tmp_path):
    job = make_job(tmp_path, Scripted(1.0, 2.0, 3.0), steps=6, evaluate_every=2)
    fit(job)
    assert job.display.notes[-1] == (
        "warning: the kept weights are those of the first validation (step 2): loss was never "
        'better; set a lower train.lr, or use the weights "last"'
    )


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"choose": "last"}, (-6.0, "last")),
        ({"average": 2}, (-5.0, "average of steps 4, 6")),
        ({"average": 9}, (-4.0, "average of steps 2, 4, 6")),
    ],
)
def test_or_the_last_weights_or_an_average(tmp_path, settings, expected):
    validator = Scripted(1.0, 2.0, 3.0)
    job = make_job(tmp_path, validator, steps=6, evaluate_every=2, **settings)
    fit(job)
    assert kept(job) == expected


def test_without_validation_the_last_weights_are_kept(tmp_path):
    job = make_job(tmp_path, steps=3, evaluate_every=2)
    fit(job)
    assert kept(job) == (-3.0, "last")
    assert job.display.validations == []


def test_the_moving_average_is_validated_and_kept(tmp_path):
    job = make_job(tmp_path, Scripted(1.0), steps=1, evaluate_every=1, ema=0.9)
    fit(job)
    average = -9 / 11  # the decay of the first update is 2/11
    assert job.validator.weights == [pytest.approx(average)]
    assert kept(job) == (pytest.approx(average), "best by loss, moving average 0.9")
    assert job.model.weight.item() == -1.0  # training continues with its own weights


def test_training_stops_when_patience_is_over(tmp_path):
    validator = Scripted(2.0, 1.0, 1.5, 1.0, 0.5)
    job = make_job(tmp_path, validator, steps=9, evaluate_every=1, patience=2)
    fit(job)
    assert job.progress.step == 4  # an equal loss is not a better one
    assert job.display.notes == [
        "stopped early: 2 validations without a better one than that of step 2"
    ]
    fit(job)
    assert job.progress.step == 4  # and it stays stopped


def test_training_continues_after_the_cursor(tmp_path):
    stream = Ones()
    job = make_job(tmp_path, stream=stream, steps=9, evaluate_every=9, accumulate=2)
    job.progress = Progress(step=7, epoch=1, batch=8)
    fit(job)
    assert stream.made == [18, 19, 20, 21]
    assert (job.progress.epoch, job.progress.batch) == (2, 2)


def test_a_process_makes_only_its_own_micro_batches(tmp_path):
    class Second(Processes):
        """The second of two, without the first."""

        sum = wait = lambda self, values=None: values

    stream = Ones()
    job = make_job(
        tmp_path, stream=stream, processes=Second(1, 2), steps=2, evaluate_every=2, accumulate=4
    )
    fit(job)
    assert stream.made == [1, 3, 5, 7]
    assert job.run.checkpoints() == []  # the first one writes


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_no_number_ends_the_run(tmp_path, value):
    job = make_job(tmp_path, stream=Ones(x2=value), steps=5, evaluate_every=1)
    with pytest.raises(RunError) as caught:
        fit(job)
    assert str(caught.value) == (
        "the loss or its gradient is not a finite number at step 3; train again with a train.lr "
        "lower than 1 or a longer train.warmup"
    )
    assert job.run.checkpoints() == [1, 2]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_stops(tmp_path, number):
    class Signalling(Ones):
        def make(self, position):
            if position == 2:
                os.kill(os.getpid(), number)
            return super().make(position)

    before = signal.getsignal(number)
    job = make_job(tmp_path, stream=Signalling(), steps=9, evaluate_every=9)
    with pytest.raises(Interrupted, match=r"^stopped at step 3 of 9, saved; ") as caught:
        fit(job)
    assert caught.value.exit_code == 128 + number
    assert job.run.checkpoints() == [3]
    assert signal.getsignal(number) == before


class SignalledOnce(Scripted):
    """A validator whose first validation gets a signal and would then take for ever."""

    def __init__(self, number, *losses):
        super().__init__(*losses)
        self.number, self.n_started = number, 0

    def examine(self, objective, limited):
        self.n_started += 1
        if self.n_started == 1:
            os.kill(os.getpid(), self.number)
            while True:
                time.sleep(0.01)
        return super().examine(objective, limited)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("steps", [2, 4])
def test_a_signal_stops_a_validation_which_a_resumed_run_makes_up(tmp_path, number, steps):
    before = signal.getsignal(number)
    validator = SignalledOnce(number, 3.0, 2.0)
    job = make_job(tmp_path, validator, ema=0.5, steps=steps, evaluate_every=2)
    with pytest.raises(Interrupted, match=rf"^stopped at step 2 of {steps}, saved; ") as caught:
        fit(job)
    assert caught.value.exit_code == 128 + number
    assert signal.getsignal(number) == before
    saved = job.run.load_checkpoint(2)
    assert saved.state["progress"]["is_validation_due"]
    assert saved.tensors["model.weight"].item() == -2.0  # not the moving average
    job.progress = Progress.from_json(saved.state["progress"])
    fit(job)
    assert validator.n_started == 1 + steps // 2
    assert [record["step"] for record in job.run.log.read() if "valid_loss" in record] == list(
        range(2, steps + 1, 2)
    )
    assert not job.progress.is_validation_due
    assert not job.run.load_checkpoint(2).state["progress"]["is_validation_due"]


def test_a_signal_before_a_validation_leaves_it_to_the_resumed_run(tmp_path):
    class Signalling(Ones):
        def make(self, position):
            if position == 1:
                os.kill(os.getpid(), signal.SIGTERM)
            return super().make(position)

    validator = Scripted(1.0, 2.0)
    job = make_job(tmp_path, validator, Signalling(), steps=4, evaluate_every=2)
    with pytest.raises(Interrupted, match=r"^stopped at step 2 of 4, saved; "):
        fit(job)
    assert validator.weights == []
    assert job.run.load_checkpoint(2).state["progress"]["is_validation_due"]


def test_all_processes_stop_if_the_first_is_stopped(tmp_path):
    """A process that does not validate learns of the signal from the first one."""

    class Second(Processes):
        def sum(self, values):
            return values

        def share(self, value):
            assert value is None
            return None

        def wait(self):
            pass

    job = make_job(tmp_path, Scripted(1.0), processes=Second(1, 2), steps=4, evaluate_every=2)
    job.updater.processes = ALONE
    job.config = replace(job.config, accumulate=2)
    with pytest.raises(Interrupted) as caught:
        fit(job)
    assert caught.value.exit_code == 128 + signal.SIGTERM


def test_work_is_saved_now_and_then_between_validations(tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "SAVE_SECONDS", -1.0)  # after every update
    job = make_job(tmp_path, stream=Ones(x5=math.nan), steps=9, evaluate_every=3)
    with pytest.raises(RunError, match="at step 6"):
        fit(job)
    # Unplanned checkpoints do not count: each is removed when a newer one exists.
    assert job.run.checkpoints() == [3, 5]


def test_a_damaged_checkpoint_is_left_out_of_the_average(tmp_path):
    job = make_job(tmp_path, steps=4, evaluate_every=2, average=2)
    fit(job)
    (job.run.path / "checkpoints" / "step-2" / "state.json").write_text("{}", "utf-8")
    fit(job)
    assert kept(job) == (-3.0, "average of steps 2, 4")  # it was written when both were whole
    (job.run.path / "model.safetensors").unlink()
    fit(job)
    assert kept(job) == (-4.0, "average of steps 4")
    [note] = job.display.notes
    assert note.startswith("damaged checkpoint in ")
    assert note.endswith("; left out")


def test_an_average_at_a_deadline_before_the_first_validation(tmp_path, monkeypatch):
    job = timed_job(
        tmp_path, monkeypatch, 20.0, minutes=1.0, deadline=True, evaluate_every=9, average=2
    )
    fit(job)
    assert kept(job) == (-4.0, "average of steps 4")


@pytest.mark.parametrize("content", [None, b"", b"damaged"])
@pytest.mark.parametrize("ema", [0.0, 0.9])
def test_damaged_weights_of_a_finished_run_are_written_again(tmp_path, content, ema):
    job = make_job(tmp_path, Scripted(3.0, 1.0, 2.0), steps=6, evaluate_every=2, ema=ema)
    fit(job)
    path = job.run.path / "model.safetensors"
    whole = path.read_bytes()
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    fit(job)
    assert path.read_bytes() == whole
    assert job.display.notes == [
        "model.safetensors was missing or damaged; written again from checkpoint step-4"
    ]


def test_damaged_weights_whose_checkpoint_was_not_kept(tmp_path):
    job = make_job(tmp_path, Scripted(1.0, 2.0, 3.0), steps=6, evaluate_every=2, keep=1)
    fit(job)
    (job.run.path / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(RunError) as caught:
        fit(job)
    lost = (
        f"{job.run.path}/model.safetensors is missing or damaged, and there is no whole checkpoint "
        "of its step 2 to write it from (there are those of 6)"
    )
    assert str(caught.value) == (
        f'{lost}; restore model.safetensors from a copy, use the last weights (`weights="last"`), '
        "or train again with another `out`"
    )
    assert f"warning: {lost}" in job.display.notes


def test_log_lines_have_the_mean_loss_and_the_rate(tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "LOG_SECONDS", 1e9)  # one line, at the end
    job = make_job(tmp_path, steps=3, evaluate_every=3)
    fit(job)
    [record] = job.run.log.read()
    assert (record["step"], record["epoch"], record["lr"]) == (3, 0, 1.0)
    assert record["loss"] == -1.0  # 0, -1 and -2
    assert record["norm"] == 1.0


class Clock:
    """Time that passes only in updates."""

    def __init__(self, seconds):
        self.now, self.seconds = 0.0, seconds

    def perf_counter(self):
        return self.now


def timed_job(folder, monkeypatch, seconds, **settings):
    job = make_job(
        folder, Scripted(*range(20, 0, -1)), steps=10, **{"evaluate_every": 2, **settings}
    )
    clock, update = Clock(seconds), job.updater
    monkeypatch.setattr("headway.training.loop.time", clock)

    def slow(*arguments):
        clock.now += clock.seconds
        return update(*arguments)

    slow.optimizer, slow.objective = update.optimizer, update.objective
    job.updater = slow
    return job


def test_the_deadline_ends_a_run_in_time_and_for_good(tmp_path, monkeypatch):
    job = timed_job(tmp_path, monkeypatch, 20.0, minutes=1.0, deadline=True)
    fit(job)
    assert job.progress.step == 4  # the first update after 60 s
    assert job.progress.is_ended
    assert job.run.checkpoints() == [2, 4]
    assert kept(job) == (-4.0, "best by loss")
    assert "stopped at the deadline, after step 4 of 10: train.minutes = 1 are over" in (
        job.display.notes
    )
    saved = Progress.from_json(job.run.load_checkpoint(4).state["progress"])
    again = make_job(tmp_path / "again", Scripted(1.0), steps=10, evaluate_every=2)
    again.progress = saved
    again.run.save_weights(job.run.load_weights()[0], "best by loss", 4)
    fit(again)
    assert again.progress.step == 4


def test_without_a_deadline_an_overrun_is_said_once(tmp_path, monkeypatch):
    job = timed_job(tmp_path, monkeypatch, 20.0, minutes=1.0)
    fit(job)
    assert job.progress.step == 10
    [note] = [note for note in job.display.notes if note.startswith("warning: ")]
    assert note == (
        "warning: 1.3 of 1 minutes are used, because the machine is slower than in the trial; the "
        "remaining 6 updates take about 2.0 minutes (train.deadline = true would stop here)"
    )

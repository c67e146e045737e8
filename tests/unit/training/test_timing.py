"""The timed trial: the micro-batches of one process, on a job that is discarded."""

from itertools import count
from types import SimpleNamespace

import pytest

from headway.training.config import TrainConfig
from headway.training.distributed import Processes
from headway.training.timing import TimedTrial


class Job:
    """A job that records its calls."""

    def __init__(self, accumulate, validator=None):
        self.config = TrainConfig(accumulate=accumulate)
        self.validator = validator
        self.updates = []
        self.updater = Updates(self.updates)
        self.batches = SimpleNamespace(after=self.after)

    def after(self, epoch, batch):
        assert (epoch, batch) == (0, 0)
        return ((0, number, lambda number=number: number) for number in count(1))


class Updates:
    processes = Processes(1, 2)
    objective = "the objective"

    def __init__(self, updates):
        self.updates = updates

    def __call__(self, batches, number, lr):
        self.updates.append((batches, number))


@pytest.mark.parametrize(("accumulate", "world", "n"), [(None, 1, 1), (3, 1, 3), (4, 2, 2)])
def test_an_update_has_the_micro_batches_of_one_process(accumulate, world, n):
    job = Job(accumulate)
    trial = TimedTrial(lambda: job, world)
    trial.start()
    trial.update(1)
    trial.update(2)
    first = [(i, i + 1) for i in range(n)]
    second = [(i, n + i + 1) for i in range(n)]  # other batches than the first
    assert job.updates == [(first, 1), (second, 2)]


def test_the_trial_does_not_wait_for_other_processes():
    job = Job(2)
    TimedTrial(lambda: job, 2).start()
    assert job.updater.processes == Processes(0, 1)


def test_the_job_is_made_by_the_start():
    made = []
    trial = TimedTrial(lambda: made.append(1) or Job(1), 1)
    assert made == []
    trial.start()
    assert made == [1]


def test_validation_is_limited_as_that_of_a_trained_model():
    calls = []
    job = Job(1, validator=lambda objective, limited: calls.append((objective, limited)))
    trial = TimedTrial(lambda: job, 1)
    trial.start()
    trial.validate()
    assert calls == [("the objective", True)]


def test_without_validation_data_a_validation_takes_no_time():
    trial = TimedTrial(lambda: Job(1), 1)
    trial.start()
    trial.validate()
    assert trial.job.updates == []

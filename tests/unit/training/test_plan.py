"""Defaults of open settings: sizes, number of updates, warm-up, updates between validations."""

import math

import pytest

from headway.errors import ConfigError
from headway.training import plan
from headway.training.config import TrainConfig
from headway.training.plan import (
    MARGIN,
    SMALLEST,
    VALIDATION_SHARE,
    VALIDATIONS,
    Measure,
    fill_length,
    fill_sizes,
)


class Clockwork(Measure):
    """A machine on which an update takes 0.1 seconds and a validation 2."""

    def __init__(self, validation=2.0):
        self.started = False
        self.validation = validation

    def start(self):
        self.started = True

    def update(self, number):
        raise AssertionError("not timed here")

    def validate(self):
        raise AssertionError("not timed here")

    def seconds_per_step(self, budget):
        return 0.1

    def seconds_per_validation(self):
        return self.validation


def planned(machine=None, **settings):
    return fill_length(TrainConfig(**settings), 1000, lambda: 50, machine or Clockwork())


def test_larger_models_take_larger_batches_and_smaller_rates():
    small, medium, large = (fill_sizes(TrainConfig(), n, 1) for n in (10**6, 2 * 10**7, 10**8))
    assert small.batch_tokens < medium.batch_tokens < large.batch_tokens
    assert small.lr > medium.lr > large.lr
    assert fill_sizes(TrainConfig(), 10**6, 1, is_finetuned=True).lr == pytest.approx(small.lr / 10)


def test_what_was_given_stays():
    filled = fill_sizes(TrainConfig(batch_tokens=77, lr=0.5, accumulate=3), 10**6, 8)
    assert (filled.batch_tokens, filled.lr, filled.accumulate) == (77, 0.5, 3)
    plan = planned(steps=100, warmup=0, evaluate_every=9)
    assert (plan.steps, plan.warmup, plan.evaluate_every) == (100, 0, 9)


def test_an_update_is_divided_among_the_workers_but_not_into_crumbs():
    def parts(workers, **settings):
        return fill_sizes(TrainConfig(**settings), 10**6, workers).accumulate

    assert parts(1) == 1
    assert parts(2) == 2
    assert parts(64, batch_tokens=4 * SMALLEST) == 4
    assert parts(8, batch_tokens=10) == 1


def test_epochs_become_updates():
    assert planned(epochs=3).steps == 150
    assert planned(epochs=3, accumulate=4).steps == 38  # 37.5, rounded up
    assert planned(epochs=0.001).steps == 1


def test_the_smallest_limit_wins():
    assert planned(epochs=3, steps=100).steps == 100
    assert planned(epochs=1, steps=100).steps == 50
    assert planned(epochs=100, minutes=1).steps < 100 * 50


def test_nothing_given_is_a_number_of_epochs_by_the_size_of_the_corpus():
    def epochs(n_examples, is_warm=False):
        return fill_length(TrainConfig(), n_examples, lambda: 10, Clockwork(), is_warm).epochs

    assert epochs(1000) == 60
    assert epochs(30_000) == 30
    assert epochs(10**7) == 3
    assert [epochs(n, is_warm=True) for n in (1000, 20_000, 70_000)] == [20, 10, 3]


def test_minutes_become_updates_once():
    seconds = 600 * MARGIN
    assert planned(minutes=10).steps == pytest.approx((seconds - VALIDATIONS * 2) / 0.1, abs=2)
    every = planned(minutes=10, evaluate_every=20)
    assert every.steps == pytest.approx(seconds / (0.1 + 2 / 20), abs=2)


def test_a_budget_too_small_for_anything_is_refused_with_the_number_it_needs():
    with pytest.raises(ConfigError, match=r"^train\.minutes = 0\.001 is not enough for one"):
        planned(minutes=0.001)
    with pytest.raises(ConfigError, match=r"give at least 0\.21 minutes for 100 updates$"):
        planned(minutes=0.001)


@pytest.mark.parametrize("validation", [0.0, 0.01, 2.0, 60.0, 3600.0])
@pytest.mark.parametrize("minutes", [0.5, 3, 600])
def test_validations_take_a_fifth_of_the_time_at_most(validation, minutes):
    plan = planned(machine=Clockwork(validation=validation), minutes=minutes)
    n = math.ceil(plan.steps / plan.evaluate_every)
    left = minutes * 60 * MARGIN
    assert 3 <= n <= VALIDATIONS
    assert n * plan.evaluate_share * validation <= VALIDATION_SHARE * left * (1 + 1e-9)
    assert plan.steps >= (1 - VALIDATION_SHARE) * left / 0.1 - 1


def test_a_share_that_is_given_stays():
    slow = Clockwork(validation=60.0)
    plan = planned(machine=slow, minutes=3, evaluate_share=1.0)
    assert plan.evaluate_share == 1.0
    assert planned(machine=slow, minutes=3, evaluate_share=0.5).evaluate_share == 0.5
    assert planned(steps=5).evaluate_share == 1.0


def test_nothing_is_measured_without_minutes():
    machine = Clockwork()
    fill_length(TrainConfig(steps=5), 1000, lambda: 50, machine)
    assert not machine.started


def test_warm_up_and_validations_follow_the_number_of_updates():
    plan = planned(steps=1200)
    assert plan.warmup == 100
    assert plan.evaluate_every == 120
    assert planned(steps=1).warmup == 1
    assert planned(steps=1).evaluate_every == 1
    assert planned(steps=10**6).warmup == 4000


def test_measuring_takes_the_mean_of_updates_after_a_warm_up(monkeypatch):
    class Timed(Clockwork):
        clock = 0.0
        seconds_per_step = Measure.seconds_per_step
        seconds_per_validation = Measure.seconds_per_validation

        def update(self, number):
            Timed.clock += 10.0 if number <= 3 else 0.5

        def validate(self):
            Timed.clock += 7.0

    monkeypatch.setattr(plan.time, "perf_counter", lambda: Timed.clock)
    assert Timed().seconds_per_step(600.0) == pytest.approx(0.5)
    assert Timed().seconds_per_validation() == 7.0

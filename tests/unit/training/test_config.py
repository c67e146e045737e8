"""The settings of training: bounds and their messages, schedules by name, planned checkpoints."""

import pytest

from headway import config as configs
from headway.errors import ConfigError
from headway.training.config import TrainConfig
from headway.training.schedule import SCHEDULES


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, "steps = 0: expected a whole number of at least 1"),
        ({"clip": -1.0}, "clip = -1.0: expected a number of at least 0"),
        ({"lr": 0.0}, "lr = 0.0: expected a number greater than 0"),
        ({"betas": [0.9, 1.0]}, "betas"),
        ({"optimizer": "lion"}, 'optimizer = "lion": expected one of "adamw", "adam", "adam_l2"'),
        ({"schedule": "cosin"}, 'did you mean "cosine"'),
        ({"evaluate_evry": 3}, "did you mean evaluate_every"),
    ],
)
def test_mistakes_are_named(settings, message):
    with pytest.raises(ConfigError) as caught:
        configs.parse(settings, TrainConfig, "run.toml")
    assert message in str(caught.value)


def test_every_schedule_can_be_chosen():
    for name in SCHEDULES:
        assert configs.parse({"schedule": name}, TrainConfig, "run.toml").schedule == name


def test_what_depends_on_the_corpus_is_left_open():
    config = TrainConfig()
    for name in ("steps", "epochs", "batch_tokens", "accumulate", "lr", "warmup"):
        assert getattr(config, name) is None, name


def test_checkpoints_are_planned_at_validations_and_at_the_end():
    config = TrainConfig(steps=10, evaluate_every=4)
    assert [step for step in range(1, 11) if config.plans_checkpoint(step)] == [4, 8, 10]
    # The end of a run without a planned number of updates is not known.
    assert not TrainConfig(evaluate_every=4).plans_checkpoint(10)

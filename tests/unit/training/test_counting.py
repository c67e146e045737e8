"""Runs of counting models: saved and validated once; unused settings are noted."""

from dataclasses import replace

import pytest
import torch
from training_cases import make_context

from headway.data.codecs.text import TextConfig
from headway.data.config import DataConfig
from headway.errors import ConfigError
from headway.models.counting.markov import MarkovConfig
from headway.run_config import RunConfig, load_run_config
from headway.training.config import TrainConfig
from headway.training.counting import count_run
from headway.training.distributed import Processes
from headway.training.run_data import prepare_codecs, prepare_data


@pytest.fixture
def config(folder):
    """A bigram model of `a b` three times and `a c` once."""
    (folder / "data" / "lines.txt").write_text("a b\n" * 3 + "a c\n", "utf-8")
    return RunConfig(
        task="language",
        data=DataConfig(train="lines.txt", valid="lines.txt", root=str(folder / "data")),
        text=TextConfig(kind="words"),
        model=MarkovConfig(order=1, smoothing="none"),
    )


def prepared(context):
    task = prepare_codecs(context)
    return task, *prepare_data(context, task, inexact=False)


def test_the_counts_are_saved_and_validated(folder, config):
    context = make_context(folder, config)
    count_run(context, *prepared(context))
    _, metadata = context.run.load_weights()
    assert metadata == {"rule": "counted", "step": "0"}
    start, validation, end = context.run.log.read()
    assert start["examples"] == {"train": 4, "valid": 4}
    assert end == {"step": 0, "finished": True}
    # Of 12 tokens (two words and the end token) only b and c are not certain: 3/4 and 1/4.
    loss = -(3 * torch.tensor(0.75).log() + torch.tensor(0.25).log()).item() / 12
    assert validation["valid_loss"] == pytest.approx(loss, rel=1e-4)
    assert [step for step, _, _ in context.display.validations] == [0]


def test_the_run_file_is_written_with_what_was_chosen(folder, config):
    context = make_context(folder, config)
    count_run(context, *prepared(context))
    assert load_run_config(context.run).model == config.model
    [line] = [line for line in context.notes["Settings"] if "parameters" in line]
    assert line.startswith("markov, ")
    assert line.endswith("vocabulary 7, 4 examples")


def test_a_finished_run_is_left_alone_and_an_unfinished_one_counts_again(folder, config):
    context = make_context(folder, config)
    data = prepared(context)
    count_run(context, *data)
    before = context.run.log.read()
    count_run(context, *data)
    assert context.run.log.read() == before
    context.run.log.append({"step": 0, "note": "something after the end"})
    count_run(context, *data)
    after = context.run.log.read()
    assert len(after) == len(before)
    assert after[-1] == {"step": 0, "finished": True}


def test_only_the_first_process_counts(folder, config):
    first = make_context(folder, config)
    data = prepared(first)
    first.group = Processes(1, 2)
    count_run(first, *data)
    assert not first.run.has_weights()


def test_settings_without_use_are_noted(folder, config):
    changed = replace(config, train=TrainConfig(lr=0.1, steps=3, metric="loss"))
    context = make_context(folder, changed)
    count_run(context, *prepared(context))
    expected = "train.steps, train.lr not used: markov learns by counting"
    assert expected in context.notes["Settings"]


def test_nothing_can_be_counted_on_top_of_another_run(folder, config):
    context = make_context(folder, config)
    data = prepared(context)
    context.config = replace(config, init="runs/first")
    with pytest.raises(ConfigError) as caught:
        count_run(context, *data)
    assert str(caught.value) == (
        "init = 'runs/first' has no meaning for model.family = 'markov', which counts from "
        "scratch; leave it out"
    )

"""Codecs and prepared data of a run: made once, read again, refused if they changed."""

import json

import pytest
from training_cases import Recorder, config_of, make_context

from headway.data.codecs.text import TextConfig
from headway.data.config import DataConfig
from headway.errors import DataError, RunError
from headway.run_config import RunConfig
from headway.training.run_data import prepare_codecs, prepare_data


@pytest.fixture
def context(folder):
    return make_context(folder, config_of(folder))


def test_the_vocabulary_is_learned_once(folder, context):
    first = prepare_codecs(context)
    assert context.display.notes == ["learning the vocabulary"]
    (folder / "data" / "pairs.tsv").write_text("other\ttext\n", "utf-8")
    context.display = Recorder()
    again = prepare_codecs(context)
    assert context.display.notes == []
    assert again.vocabularies == first.vocabularies
    assert again.vocabularies.source == 8 + 4  # the letters and the special tokens


def test_a_missing_column_is_reported_before_the_vocabulary_is_learned(folder):
    (folder / "data" / "one.tsv").write_text("no second column\n", "utf-8")
    data = DataConfig(train="one.tsv", root=str(folder / "data"))
    context = make_context(folder, config_of(folder, data=data))
    with pytest.raises(DataError, match=r"one\.tsv:1"):
        prepare_codecs(context)
    assert context.display.notes == []


def test_examples_are_counted_and_reports_noted(context):
    training, validation = prepare_data(context, prepare_codecs(context), inexact=False)
    assert (len(training.store), len(validation.store)) == (16, 16)
    assert context.examples == {"train": 16, "valid": 16}
    assert any(line.startswith("train: ") for line in context.notes["Data"])


def test_validation_data_may_be_left_out(folder):
    data = DataConfig(train="pairs.tsv", root=str(folder / "data"))
    context = make_context(folder, config_of(folder, data=data))
    _, validation = prepare_data(context, prepare_codecs(context), inexact=False)
    assert validation is None
    assert context.examples == {"train": 16}
    assert json.loads(context.run.read_text("data.json")).keys() == {"train"}


def test_examples_of_training_that_leak_into_validation_are_noted_once(context):
    task = prepare_codecs(context)
    prepare_data(context, task, inexact=False)
    leaks = [line for line in context.notes["Data"] if "valid" in line.partition(":")[2]]
    assert len(leaks) == 1
    context.notes["Data"].clear()
    prepare_data(context, task, inexact=False)  # as when the run is resumed
    assert not any("valid" in line.partition(":")[2] for line in context.notes["Data"])


def test_changed_data_are_refused_by_name_and_taken_if_told_to(folder, context):
    task = prepare_codecs(context)
    prepare_data(context, task, inexact=False)
    before = context.run.read_text("data.json")
    with open(folder / "data" / "pairs.tsv", "a", encoding="utf-8") as file:
        file.write("dd\tdd\n")
    with pytest.raises(RunError) as caught:
        prepare_data(context, task, inexact=False)
    assert str(caught.value).startswith(f"data.train and data.valid changed since {folder / 'run'}")
    assert context.run.read_text("data.json") == before
    training, _ = prepare_data(context, task, inexact=True)
    assert len(training.store) == 17
    assert context.run.read_text("data.json") != before


def test_suspicious_labels_of_the_training_data_are_noted(folder):
    lines = ["aw\tyes\n"] * 3 + ["bw\tno\n"] * 3 + ["cw\tNo\n"]
    (folder / "data" / "labels.tsv").write_text("".join(lines), "utf-8")
    data = DataConfig(train="labels.tsv", valid="labels.tsv", root=str(folder / "data"))
    config = RunConfig(task="classify", data=data, text=TextConfig(kind="characters"))
    context = make_context(folder, config)
    prepare_data(context, prepare_codecs(context), inexact=False)
    noted = [line for line in context.notes["Data"] if "differs" in line]
    assert noted == ["warning: label 'No' (1 example) differs from 'no' (3) only in case"]
    assert noted[0] in context.display.notes

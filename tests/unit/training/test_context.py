"""`TrainingContext`: notes, the log by the first process, corpora and the root."""

from pathlib import Path

import pytest
from training_cases import config_of, make_context

from headway.data.config import Corpus, DataConfig
from headway.training.distributed import Processes


@pytest.fixture
def context(folder):
    return make_context(folder, config_of(folder))


def test_a_note_is_shown_and_kept_under_its_heading(context):
    context.note("Data", "train: 16 rows")
    context.note("Settings", "4 updates")
    assert context.display.notes == ["train: 16 rows", "4 updates"]
    assert context.notes == {"Data": ["train: 16 rows"], "Settings": ["4 updates"]}


def test_the_start_is_logged_with_examples_and_notes(context):
    context.examples["train"] = 16
    context.note("Data", "train: 16 rows")
    context.log_start(3)
    assert context.run.log.read() == [
        {
            "step": 3,
            "examples": {"train": 16},
            "notes": {"Data": ["train: 16 rows"], "Settings": []},
        }
    ]


def test_a_run_is_finished_when_its_last_record_says_so(context):
    assert not context.is_finished()  # without a log
    context.log_start(0)
    assert not context.is_finished()
    context.log_end(4)
    assert context.is_finished()
    context.log_start(4)  # resumed after its end
    assert not context.is_finished()


def test_only_the_first_process_logs(folder):
    context = make_context(folder, config_of(folder), Processes(1, 2))
    context.log_start(0)
    context.log_end(4)
    assert context.run.log.read() == []


def test_corpora_are_a_tuple_however_the_run_file_names_them(folder):
    data = DataConfig(train=["a.tsv", Corpus(file="b.tsv", weight=2.0)], valid="c.tsv")
    context = make_context(folder, config_of(folder, data=data))
    assert context.corpora("train") == (Corpus(file="a.tsv"), Corpus(file="b.tsv", weight=2.0))
    assert context.corpora("valid") == (Corpus(file="c.tsv"),)
    assert context.corpora("test") == ()
    assert context.root == Path()  # the working directory


def test_the_device_is_the_run_files(folder):
    context = make_context(folder, config_of(folder, device="cpu"))
    assert context.device.type == "cpu"

"""Runs whose run file names no validation data: they hold out a part of the training data."""

import json
from dataclasses import replace

import pytest
import torch
from training_cases import Recorder, config_of

from headway import api
from headway.data.config import DataConfig
from headway.data.formats.read import read
from headway.errors import ConfigError
from headway.models.encoder import EncoderConfig
from headway.run_config import load_run_config
from headway.runs import RunDir
from headway.training.config import TrainConfig

ENCODER = EncoderConfig(d_model=8, d_ff=8, n_heads=2, layers=1)
WORDS = [f"{a}{b}{c}" for a in "abcdef" for b in "uvwxyz" for c in "mnop"]  # 144


def without_valid(folder, rows, **changes):
    (folder / "data" / "rows.tsv").write_text("".join(rows), encoding="utf-8")
    data = DataConfig(train="rows.tsv", root=str(folder / "data"))
    return config_of(folder, data=data, **changes)


def sides(run):
    data = load_run_config(run).data
    return [
        {row.values for corpus in corpora for row in read(corpus, ("source", "target"), run.path)}
        for corpora in (
            [replace(c, file=f"{data.root}/{c.file}") for c in data.train],
            [replace(c, file=f"{data.root}/{c.file}") for c in data.valid],
        )
    ]


@pytest.fixture
def config(folder):
    return without_valid(folder, [f"{word}\t{word[::-1]}\n" for word in WORDS])


def test_a_part_is_held_out_said_and_recorded(folder, config):
    display = Recorder()
    api.train(config, folder / "run", display)
    line = "no data.valid: 28 of 144 examples are held out for validation (seed 1)"
    assert display.notes[0] == line
    run = RunDir.open(folder / "run")
    first = run.log.read()[0]
    assert first["notes"]["Data"][0] == line
    assert first["examples"] == {"train": 116, "valid": 28}
    trained, held = sides(run)
    assert (len(trained), len(held), trained & held) == (116, 28, set())
    assert len(display.validations) == 2
    assert "valid" in json.loads(run.read_text("data.json"))


def test_the_vocabulary_is_that_of_the_training_part(folder):
    characters = [chr(0x4E00 + i) for i in range(144)]
    config = without_valid(folder, [f"{character}\ta\n" for character in characters])
    model = api.train(config, folder / "run")
    trained, held = sides(model.run)
    codec = model.task.source
    unknown = {c for c in characters if codec.unk in codec.tokenizer.encode(c)}
    assert unknown == {source for source, _ in held}
    assert len(trained) == 116


def test_a_resumed_run_is_the_same(folder, config):
    api.train(config, folder / "whole")
    expected, _ = RunDir.open(folder / "whole").load_weights()
    api.train(config, folder / "run")
    run = RunDir.open(folder / "run")
    for file in (run.path / "checkpoints").glob("*4/*"):
        file.unlink()
    (run.path / "model.safetensors").unlink()
    api.resume(run.path)
    resumed, _ = RunDir.open(folder / "run").load_weights()
    assert all(torch.equal(resumed[name], expected[name]) for name in expected)


def test_an_older_run_without_validation_resumes_without(folder, config):
    """Only a new run is given validation data."""
    api.train(replace(config, data=replace(config.data, valid=[])), folder / "run")
    run = RunDir.open(folder / "run")
    text = run.read_text("run.toml").replace("valid = []\n", "")
    run.write_text("run.toml", text)
    for file in (run.path / "checkpoints").glob("*4/*"):
        file.unlink()
    display = Recorder()
    api.resume(run.path, display)
    assert display.validations == []


def test_a_label_may_be_in_one_part_only(folder):
    rows = ["text\tlabel\n", *(f"{word}\tlabel {i}\n" for i, word in enumerate(WORDS))]
    config = without_valid(folder, rows, task="classify", model=ENCODER)
    model = api.train(config, folder / "run")
    assert len(model.labels) == 144


def test_a_tag_may_be_in_one_part_only(folder):
    rows = ["words\ttags\n", *(f"{word}\tTAG{i}\n" for i, word in enumerate(WORDS))]
    config = without_valid(folder, rows, task="tag", model=ENCODER)
    model = api.train(config, folder / "run")
    assert len(model.task.tags) == 144


def test_long_examples_are_dropped_on_both_sides(folder):
    rows = [f"{word * (20 if i % 2 else 1)}\t{word}\n" for i, word in enumerate(WORDS)]
    config = without_valid(folder, rows)
    data = replace(config.data, max_length=30)
    api.train(replace(config, data=data), folder / "run")
    examples = RunDir.open(folder / "run").log.read()[0]["examples"]
    assert sum(examples.values()) == 72


def test_few_examples_are_trained_on_with_a_warning(folder):
    display = Recorder()
    config = without_valid(folder, [f"{word}\t{word}\n" for word in WORDS[:50]])
    api.train(config, folder / "run", display)
    assert display.notes[0].startswith("warning: no data.valid, and 50 examples are too few")
    assert display.validations == []


def test_patience_needs_validation_data(folder):
    config = without_valid(
        folder, [f"{word}\t{word}\n" for word in WORDS[:50]], train=TrainConfig(patience=2)
    )
    with pytest.raises(
        ConfigError, match=r"train\.patience needs validation data; set data\.valid"
    ):
        api.train(config, folder / "run")
    assert not (folder / "run").exists()

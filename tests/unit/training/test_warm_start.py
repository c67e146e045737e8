"""Runs that start from another one: new heads, frozen encoders, LoRA, inherited keys."""

import json
from dataclasses import replace

import pytest
import torch

from headway import api
from headway.data.codecs.text import TextConfig
from headway.data.config import DataConfig
from headway.errors import ConfigError, RunError
from headway.models.encoder import EncoderConfig
from headway.models.finetuning import FinetuneConfig
from headway.models.recurrent_encoder import RecurrentEncoderConfig
from headway.run_config import load_run_config
from headway.runs import RunDir
from headway.training.config import TrainConfig

SMALL = EncoderConfig(d_model=8, d_ff=12, n_heads=2, layers=1, dropout=0.0)
GOOD, BAD = ["a fine film", "fine and warm", "so fine"], ["a dull film", "dull and cold", "so dull"]
TRAIN = TrainConfig(steps=6, evaluate_every=2, batch_tokens=64, lr=1e-2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tuning")
    for name, (good, bad) in {"first": ("good", "bad"), "second": ("yes", "no")}.items():
        rows = [*((text, good) for text in GOOD), *((text, bad) for text in BAD)]
        content = "".join(f"{text}\t{label}\n" for text, label in rows)
        (folder / f"{name}.tsv").write_text(content, "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(folder / "cache"))
        config = config_of(folder, "first", model=SMALL, text=TextConfig(kind="words"))
        api.train(config, folder / "begun")
        yield folder


def config_of(folder, data, **settings):
    there = DataConfig(train=f"{data}.tsv", valid=f"{data}.tsv", root=str(folder))
    return api.RunConfig(there, **({"task": "classify", "train": TRAIN} | settings))


def weights(path):
    return RunDir.open(path).load_weights()[0]


def train_from(folder, out, data="second", **settings):
    config = config_of(folder, data, init=str(folder / "begun"), **settings)
    return api.train(config, folder / out)


def notes(path):
    with open(path / "log.jsonl", encoding="utf-8") as file:
        return json.loads(next(file))["notes"]["Settings"]


def test_other_labels_take_a_new_head_and_the_same_labels_the_old_one(folder):
    old = weights(folder / "begun")
    model = train_from(folder, "other")
    assert model.labels == ("no", "yes")
    started = RunDir.open(folder / "other").load_init()
    assert started.keys() == {name for name in old if name.startswith("backbone.")}
    assert all(torch.equal(started[name], old[name]) for name in started)
    assert "the head is new; all other weights are those of init" in notes(folder / "other")
    train_from(folder, "same", data="first")
    assert RunDir.open(folder / "same").load_init().keys() == old.keys()
    assert "the head is new" not in " ".join(notes(folder / "same"))


def test_a_frozen_encoder_stays_as_it_is(folder):
    train_from(folder, "frozen", tune=FinetuneConfig(mode="frozen"))
    old, new = weights(folder / "begun"), weights(folder / "frozen")
    for name, value in old.items():
        assert torch.equal(new[name], value) == name.startswith("backbone."), name
    assert 'tune.mode = "frozen": 18 of these (' in " ".join(notes(folder / "frozen"))


def test_lora_leaves_an_ordinary_run(folder):
    model = train_from(folder, "lora", tune=FinetuneConfig(mode="lora", rank=2))
    old, new = weights(folder / "begun"), weights(folder / "lora")
    assert new.keys() == old.keys()
    changed = {name for name in old if not torch.equal(old[name], new[name])}
    body = {name for name in changed if name.startswith("backbone.")}
    assert body == {
        f"backbone.layers.0.{part}.weight"
        for part in ("attention.qkv", "attention.out", "feed.inner", "feed.outer")
    }
    assert model.predict(["so fine"])[0].label in ("yes", "no")


def test_lora_is_resumed_exactly(folder):
    settings = {"tune": FinetuneConfig(mode="lora", rank=2)}
    train_from(folder, "whole", **settings)
    train_from(folder, "again", **settings)
    run = RunDir.open(folder / "again")
    (run.path / "model.safetensors").unlink()
    last = max(run.checkpoints())
    for file in (run.path / "checkpoints" / f"step-{last}").iterdir():
        file.unlink()
    (run.path / "checkpoints" / f"step-{last}").rmdir()
    api.resume(folder / "again")
    expected, loaded = weights(folder / "whole"), weights(folder / "again")
    assert all(torch.equal(loaded[name], expected[name]) for name in expected)


def test_an_average_of_checkpoints_is_an_ordinary_run_too(folder):
    train = replace(TRAIN, average=2)
    train_from(folder, "averaged", tune=FinetuneConfig(mode="lora", rank=2), train=train)
    assert weights(folder / "averaged").keys() == weights(folder / "begun").keys()


def test_keys_of_the_model_that_are_not_given_are_those_of_init(folder):
    path = folder / "tuned.toml"
    path.write_text(
        f'task = "classify"\ninit = "{folder / "begun"}"\n[data]\ntrain = "second.tsv"\n'
        '[model]\npooling = "first"\ndropout = 0.3\n',
        "utf-8",
    )
    loaded = api.read_config(path).model
    assert loaded == replace(
        load_run_config(RunDir.open(folder / "begun")).model, pooling="first", dropout=0.3
    )
    other = ["model.family=recurrent_encoder", "model.pooling=last"]
    assert api.read_config(path, other).model.d_model == 256  # nothing of init's is of use there


def test_an_init_that_is_no_run_is_said_to_be_the_inits(folder):
    path = folder / "lost.toml"
    path.write_text(f'task = "classify"\ninit = "{folder / "lost"}"\ndata.train = "second.tsv"\n')
    with pytest.raises(RunError, match=r"^init: .*lost does not exist; give the directory"):
        api.read_config(path)


def test_mistakes_are_said_in_words(folder):
    message = r'tune\.mode = "lora" freezes weights, which are random without init'
    with pytest.raises(ValueError, match=message):
        config_of(folder, "first", tune=FinetuneConfig(mode="lora"))
    other = RecurrentEncoderConfig(d_model=8)
    with pytest.raises(ConfigError, match=r"does not fit the model: .* is missing"):
        train_from(folder, "no", model=other)
    pairs = DataConfig(train="first.tsv", root=str(folder))
    message = "task = 'translate' needs a model with a source that can score, step"
    with pytest.raises(ConfigError, match=message):
        api.train(api.RunConfig(pairs, init=str(folder / "begun")), folder / "no")
    assert not (folder / "no").exists()

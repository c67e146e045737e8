"""The public names: each is there and loaded late; old names warn; training ends with a report."""

import importlib
import os
import re
import signal

import pytest
import torch

import headway
from headway import api
from headway.data.codecs.text import TextConfig
from headway.data.config import DataConfig
from headway.models.recurrent import RecurrentConfig
from headway.training import loop
from headway.training.config import TrainConfig
from headway.training.progress import Silent


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWAY_CACHE", str(tmp_path / "cache"))
    (tmp_path / "pairs.tsv").write_text("".join(f"{a}\t{a}\n" for a in "abcdef"), "utf-8")
    return api.RunConfig(
        data=DataConfig(train="pairs.tsv", root=str(tmp_path)),
        text=TextConfig(kind="characters"),
        model=RecurrentConfig(d_model=8),
        train=TrainConfig(steps=4, evaluate_every=2, batch_tokens=8),
    )


def test_every_public_name_has_a_module():
    assert sorted(api.__all__) == api.__all__
    assert set(api.__all__) == {*api.MODULES, "train", "resume"}


@pytest.mark.parametrize("name", api.__all__)
def test_a_name_is_the_same_object_wherever_it_is_asked_for(name):
    assert getattr(headway, name) is getattr(api, name)
    if name in api.MODULES:
        module = importlib.import_module(api.MODULES[name], "headway")
        assert getattr(module, name) is getattr(api, name)


@pytest.mark.parametrize(("old", "new"), api.OLD_NAMES.items())
def test_a_name_of_version_0_1_works_and_warns(old, new):
    expected = f"headway.{old} is now headway.{new}; the old name will be removed in 1.0"
    with pytest.warns(DeprecationWarning, match=f"^{re.escape(expected)}$") as caught:
        assert getattr(headway, old) is getattr(headway, new)
    assert len(caught) == 1


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"^module 'headway\.api' has no attribute 'trian'$"):
        api.trian  # noqa: B018
    with pytest.raises(AttributeError, match=r"^module 'headway' has no attribute 'trian'$"):
        headway.trian  # noqa: B018


def test_training_returns_the_model_and_writes_a_report(config, tmp_path):
    model = api.train(config, tmp_path / "run")
    assert isinstance(model, api.Translator)
    assert (tmp_path / "run" / "report.html").exists()


def test_only_the_first_process_writes_the_report(config, tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    api.train(config, tmp_path / "run")
    assert not (tmp_path / "run" / "report.html").exists()


def test_an_interrupted_run_is_resumed_and_loaded(config, tmp_path, monkeypatch):
    class Stopping(Silent):
        def update(self, step, total, figures):
            if step == 1:
                os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(loop, "LOG_SECONDS", 0.0)  # every update is shown
    with pytest.raises(loop.Interrupted):
        api.train(config, tmp_path / "run", Stopping())
    resumed = api.resume(tmp_path / "run")
    whole = api.train(config, tmp_path / "whole")
    texts = ["a", "fed"]
    assert [output.text for output in resumed.translate(texts)] == [
        output.text for output in whole.translate(texts)
    ]
    weights = [model.model.state_dict() for model in (resumed, whole)]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[1])


def test_dir_shows_what_there_is():
    shown = dir(headway)
    assert {"train", "load", "Translator", "HeadwayError", "__doc__"} <= set(shown)
    assert "Request" not in shown  # an old name


def test_errors_can_be_caught():
    with pytest.raises(headway.HeadwayError, match="does not exist"):
        headway.load("nowhere")
    assert issubclass(headway.DataError, headway.HeadwayError)

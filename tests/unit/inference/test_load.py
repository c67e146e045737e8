"""`load`: the class of each task, ensembles, and the runs and commands that do not fit."""

import shutil

import pytest

import headway
from headway import api
from headway.data.codecs.text import TextConfig
from headway.data.config import Corpus, DataConfig
from headway.errors import ConfigError, RunError
from headway.inference.classifier import Classifier
from headway.inference.load import load_for, require_task, trained_class, trained_classes
from headway.models.decoder import DecoderConfig
from headway.tasks import TASKS
from headway.tasks.classify import Classify
from headway.training.config import TrainConfig


@pytest.fixture(scope="module")
def languages(tmp_path_factory):
    """Language models: `long` and `short` by the longest text, `bytes` by the vocabulary."""
    folder = tmp_path_factory.mktemp("load")
    (folder / "lines.txt").write_text("abab\nbaba\naabb\n")
    runs = {"long": ("characters", 40), "short": ("characters", 30), "bytes": ("bytes", 40)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(folder / "cache"))
        for seed, (name, (kind, max_length)) in enumerate(runs.items()):
            config = api.RunConfig(
                data=DataConfig(
                    train=Corpus(file="lines.txt"), root=str(folder), max_length=max_length
                ),
                task="language",
                text=TextConfig(kind=kind),
                model=DecoderConfig(d_model=8, d_ff=8, n_heads=2, layers=1),
                train=TrainConfig(steps=1, batch_tokens=32),
                seed=seed,
            )
            api.train(config, folder / name)
        yield folder


def test_a_run_becomes_the_class_of_its_task(predictors, languages):
    loaded = {name: type(headway.load(predictors / name)) for name in ("tag", "answer", "regress")}
    assert loaded == {
        "tag": headway.Tagger,
        "answer": headway.Answerer,
        "regress": headway.Regressor,
    }
    model = headway.load(languages / "long", device="cpu")
    assert isinstance(model, headway.LanguageModel)
    assert not model.model.training
    assert (model.max_length, model.ensemble_members) == (40, ())


def test_an_ensemble_has_the_settings_of_the_first_and_the_shortest_limit(languages):
    both = headway.load(languages / "long", languages / "short")
    assert isinstance(both, headway.LanguageModel)
    assert both.config == headway.load(languages / "long").config
    assert both.max_length == 30
    assert [member.run.path.name for member in both.ensemble_members] == ["short"]
    singles = [headway.load(languages / name).n_parameters for name in ("long", "short")]
    assert both.n_parameters == sum(singles)


def test_an_ensemble_has_one_task(predictors, languages):
    with pytest.raises(RunError) as error:
        headway.load(predictors / "tag", languages / "long")
    assert str(error.value) == (
        f"{languages / 'long'} was trained for task 'language' and {predictors / 'tag'} for 'tag'; "
        "an ensemble has one task"
    )


def test_an_ensemble_has_one_vocabulary(languages):
    first, other = languages / "long", languages / "bytes"
    with pytest.raises(RunError) as error:
        headway.load(first, languages / "short", other)
    assert str(error.value) == (
        f"{other} has another text vocabulary than {first}, and an ensemble needs one and the "
        f"same; train both on the same data with the same [text], or one with init = '{first}'"
    )


def test_directories_that_cannot_be_used(languages, tmp_path):
    with pytest.raises(RunError, match="nowhere"):
        headway.load(tmp_path / "nowhere")
    shutil.copytree(languages / "long", tmp_path / "begun")
    (tmp_path / "begun" / "model.safetensors").unlink()
    with pytest.raises(RunError, match="begun"):
        headway.load(tmp_path / "begun")


def test_a_command_names_those_that_fit_the_run(languages):
    path = languages / "long"
    with pytest.raises(ConfigError) as caught:
        load_for("translate", headway.Translator, path)
    assert str(caught.value) == (
        f"headway translate has no use for {path}, which was trained for task 'language'; "
        f"try headway generate {path} or headway score {path} or headway evaluate {path}"
    )
    assert isinstance(load_for("score", headway.LanguageModel, path), headway.LanguageModel)


def test_a_command_may_fit_several_classes(languages):
    require_task("score", (headway.Translator, headway.LanguageModel), languages / "long")
    with pytest.raises(ConfigError, match="headway predict has no use for"):
        require_task("predict", (headway.Classifier, headway.Tagger), languages / "long")


def test_every_task_has_a_class(monkeypatch):
    assert trained_classes().keys() == TASKS.keys()
    assert trained_class("translate") is headway.Translator

    class OwnModel(Classifier):
        """Of a task of the user's."""

    class Own(Classify):
        name = "own"
        trained_class = OwnModel

    monkeypatch.setitem(TASKS, "own", Own)
    assert trained_class("own") is OwnModel

"""Trained models of every task: parameters, names in messages, search settings, refusals."""

from types import SimpleNamespace

import pytest
import torch

import headway
from headway.data.config import DataConfig
from headway.errors import ConfigError
from headway.inference.base import EnsembleMember, TrainedModel, location_of
from headway.models.ensemble import Ensemble
from headway.run_config import RunConfig
from headway.search import SearchConfig
from headway.tasks.classify import Classify


@pytest.fixture(scope="module")
def translator(folder):
    return headway.load(folder / "pre")


def model_of(module, others=()):
    """A trained model of no run."""
    run = SimpleNamespace(path="runs/first")
    config = RunConfig(DataConfig(train="a.tsv"), search=SearchConfig(beam=3, alpha=0.5))
    return TrainedModel(run, config, Classify(), module, {"rule": "best"}, others)


def test_inputs_have_their_own_names_or_are_counted_from_one():
    assert location_of(0, None) == "text 1"
    assert location_of(6, None, "sentence") == "sentence 7"
    assert location_of(1, ["a:3", "a:4"], "sentence") == "a:4"


def test_parameters_are_weights_and_buffers():
    module = torch.nn.Linear(3, 2)
    module.register_buffer("counts", torch.zeros(5))
    assert model_of(module).n_parameters == 6 + 2 + 5


def test_batches_go_where_the_model_computes():
    model = model_of(torch.nn.Linear(3, 2, device="meta"))
    batch = model.to_device({"src": torch.zeros(1, 2), "src_valid": torch.ones(1, 2).bool()})
    assert {name: value.device.type for name, value in batch.items()} == {
        "src": "meta",
        "src_valid": "meta",
    }


def test_an_ensemble_is_refused_with_the_names_of_its_runs():
    others = [EnsembleMember(SimpleNamespace(path=f"runs/{n}"), {}) for n in ("second", "third")]
    model = model_of(Ensemble([torch.nn.Linear(1, 1)] * 3), others)
    with pytest.raises(ConfigError) as error:
        model.single_model("looking inside")
    assert str(error.value) == (
        "looking inside takes one run, not an ensemble (runs/first, runs/second, runs/third); "
        "name one"
    )
    module = torch.nn.Linear(1, 1)
    assert model_of(module).single_model("looking inside") is module


def test_search_settings_are_those_of_the_run_with_changes():
    model = model_of(torch.nn.Linear(1, 1))
    assert model.search_config() == SearchConfig(beam=3, alpha=0.5)
    assert model.search_config(beam=7, alpha=None) == SearchConfig(beam=7, alpha=0.5)
    with pytest.raises(ConfigError, match="beams"):
        model.search_config(beams=3)
    with pytest.raises(ConfigError, match=r"beam = 0: expected a whole number of at least 1"):
        model.search_config(beam=0)


def test_metrics_of_other_tasks_are_refused():
    model = model_of(torch.nn.Linear(1, 1))
    model.check_metrics(["accuracy", "macro_f1"])
    model.check_metrics([])
    with pytest.raises(ConfigError, match="no metric 'bleu' for task 'classify'"):
        model.check_metrics(["accuracy", "bleu"])


def test_the_longest_input_is_that_of_the_run_unless_an_ensemble_has_another():
    model = model_of(torch.nn.Linear(1, 1))
    assert model.max_length == model.config.data.max_length
    shorter = TrainedModel(model.run, model.config, model.task, model.model, {}, (), 5)
    assert shorter.max_length == 5


def test_a_server_takes_the_commands_and_embeds_with_encoders(predictors, translator):
    assert translator.verbs_for(translator.config) == {"translate", "score", "inspect"}
    regressor = headway.load(predictors / "regress")
    assert regressor.verbs_for(regressor.config) == {"predict", "inspect", "embed"}


def test_logged_samples_stay_as_they_are_where_nothing_predicts_them():
    [sample] = model_of(torch.nn.Linear(1, 1)).report_samples([("a", "b", "c")])
    assert (sample.source, sample.output, sample.expected) == ("a", "b", "c")
    assert model_of(torch.nn.Linear(1, 1)).picture(sample) is None


def test_a_page_shows_the_inspection(translator):
    assert translator.view("dog", n_best=1).html == translator.inspect("dog", n_best=1).view().html
    assert translator.background().run["name"] == "pre"


def test_a_model_says_what_it_is():
    module = torch.nn.Linear(3, 2)
    other = EnsembleMember(SimpleNamespace(path="runs/second"), {"rule": "last"})
    assert repr(model_of(module)) == "<TrainedModel of 'runs/first': transformer, 8 parameters>"
    assert repr(model_of(module, [other])).startswith(
        "<TrainedModel of 'runs/first', 'runs/second': "
    )

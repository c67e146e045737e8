"""Resolved model, validator and summary line from run file and data."""

from dataclasses import replace

import pytest
from training_cases import SMALL, config_of, make_context

from headway.data.codecs.text import TextConfig
from headway.errors import ConfigError
from headway.models.transformer import TransformerConfig
from headway.search import SearchConfig
from headway.training.resolve import make_validator, model_line, resolve_model
from headway.training.run_data import prepare_codecs, prepare_data


@pytest.fixture
def context(folder):
    return make_context(folder, config_of(folder))


@pytest.fixture
def task(context):
    return prepare_codecs(context)


def test_a_model_without_sizes_gets_those_for_its_corpus(folder, task):
    config = config_of(folder, model=TransformerConfig())
    small, large = (resolve_model(config, task, n).model for n in (100, 10**7))
    assert small.d_model < large.d_model
    assert resolve_model(config_of(folder), task, 10**7).model.d_model == SMALL.d_model


def test_sizes_that_do_not_fit_each_other_are_refused_in_words(folder, task):
    config = config_of(folder, model=TransformerConfig(n_heads=7))  # d_model is still open
    with pytest.raises(ConfigError, match=r"^model: d_model=\d+ is not divisible by n_heads=7"):
        resolve_model(config, task, 16)


def test_without_validation_data_there_is_no_validator(folder, task):
    config = config_of(folder)
    assert make_validator(config, task, None, config.train) is None


def test_validation_searches_greedily_within_the_limits_of_the_run(folder, context, task):
    _, validation = prepare_data(context, task, inexact=False)
    search = SearchConfig(method="sample", temperature=5.0, max_length=7)
    config = config_of(folder, search=search)
    validator = make_validator(config, task, validation, replace(config.train, metric="chrf"))
    assert validator.metric == "chrf"
    assert validator.search == SearchConfig(beam=1, max_length=7)


def test_the_line_about_a_model(folder, task):
    line = "transformer, 1,234,567 parameters, vocabulary 12, 16,000 examples"
    assert model_line(config_of(folder), 16_000, 1_234_567, task) == line
    separate = config_of(folder, text=TextConfig(kind="characters", shared=False))
    task = prepare_codecs(make_context(folder, separate, out="separate"))
    assert ", vocabulary 12 and 12, " in model_line(separate, 1, 1, task)

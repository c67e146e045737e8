"""The table of search engines: names, modules, and a translator that searches with one."""

import sys
from types import SimpleNamespace

import pytest

import headway
from headway import TranslationRequest
from headway.errors import ConfigError
from headway.inference.engines import ENGINES, engine_module, engine_names
from headway.search import Hypothesis, SearchConfig


class FirstWords:
    """An engine that repeats the first source token, and remembers the settings of its search."""

    def __init__(self, compute_type):
        self.compute_type = compute_type

    def predict(self, sources, config):
        self.config = config
        return [[Hypothesis([int(ids[0])], -1.0, -0.5, [], True)] for ids in sources]


@pytest.fixture
def made(monkeypatch):
    """The engines that a module of the user's has made, with its entry in the table."""
    engines = []

    def make_engine(translator, compute_type):
        engines.append(FirstWords(compute_type))
        return engines[-1]

    module = SimpleNamespace(make_engine=make_engine, COMPUTE_TYPES=("default", "half"))
    monkeypatch.setitem(sys.modules, "first_words", module)
    monkeypatch.setitem(ENGINES, "first", "first_words")
    return engines


@pytest.fixture(scope="module")
def translator(folder):
    return headway.load(folder / "pre")


def test_headways_own_engine_comes_first():
    assert engine_names() == ("headway", "ctranslate2")


def test_an_unknown_engine_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError) as error:
        engine_module("fast")
    assert str(error.value) == "no engine 'fast'; expected headway or ctranslate2"
    with pytest.raises(ConfigError, match="no engine 'headway'"):
        engine_module("headway")  # needs no module


def test_the_module_of_ctranslate2_has_what_an_engine_needs():
    module = engine_module("ctranslate2")
    assert module.COMPUTE_TYPES[0] == "default"
    assert callable(module.make_engine)
    with pytest.raises(ConfigError):
        module.require_supported(SearchConfig(method="sample"))


def test_a_row_of_the_table_is_an_engine(translator, made):
    assert engine_names()[-1] == "first"
    dog, blank, two = translator.translate(["dog big", " ", "two"], engine="first", beam=2)
    assert [translation.text for translation in (dog, blank, two)] == ["dog", "", "two"]
    assert dog.outputs[0].score == -0.5
    assert made[0].config.beam == 2


def test_an_engine_is_made_once_for_each_compute_type(translator, made):
    again = headway.load(translator.run.path)
    for compute_type in ("default", "half", "default"):
        again.translate(["dog"], engine="first", compute_type=compute_type)
    assert [engine.compute_type for engine in made] == ["default", "half"]


def test_engines_search_without_constraints_and_traces(translator, made):
    refused = [
        ([TranslationRequest("dog", require=["cat"])], {}),
        ([TranslationRequest("dog", prefix="c")], {}),
        (["dog"], {"trace": True}),
    ]
    for texts, options in refused:
        with pytest.raises(ConfigError) as error:
            translator.translate(texts, engine="first", **options)
        assert str(error.value) == (
            "the engine first knows no required or forbidden terms, no prefix and no trace; use "
            "the engine headway for them"
        )
    assert made == []

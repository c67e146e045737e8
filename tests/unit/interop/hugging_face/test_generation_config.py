"""Search settings and entries of `generation_config.json`, by hand and there and back."""

import pytest
import transformers

from headway.interop.hugging_face.generation_config import (
    generation_of,
    search_obstacles,
    search_of,
)
from headway.search import SearchConfig

INFINITE = float("inf")


def test_entries_of_beam_search():
    search = SearchConfig(beam=4, alpha=0.6, n_best=2, max_length=20, min_length=3, no_repeat=3)
    assert generation_of(search) == {
        "do_sample": False,
        "num_beams": 4,
        "length_penalty": 0.6,
        "num_return_sequences": 2,
        "max_length": 21,  # with the begin token
        "min_length": 3,  # with the begin token, without the end token
        "no_repeat_ngram_size": 3,
        "early_stopping": True,
    }


def test_entries_of_greedy_search_have_no_length_penalty():
    assert generation_of(SearchConfig(beam=1, max_length=20)) == {
        "do_sample": False,
        "num_beams": 1,
        "num_return_sequences": 1,
        "max_length": 21,
        "min_length": 0,
        "no_repeat_ngram_size": 0,
    }


def test_entries_of_sampling_have_no_beam():
    search = SearchConfig(method="sample", n_best=3, temperature=0.7, top_k=5, top_p=0.9)
    assert generation_of(search) == {
        "do_sample": True,
        "num_beams": 1,
        "num_return_sequences": 3,
        "max_length": 257,
        "min_length": 0,
        "no_repeat_ngram_size": 0,
        "temperature": 0.7,
        "top_k": 5,
        "top_p": 0.9,
    }


@pytest.mark.parametrize(("stop", "entry"), [("finished", True), ("safe", "never")])
def test_when_a_beam_search_stops(stop, entry):
    assert generation_of(SearchConfig(beam=2, stop=stop))["early_stopping"] == entry


def test_a_shortest_output_is_no_longer_than_the_longest():
    assert generation_of(SearchConfig(min_length=9, max_length=4))["min_length"] == 4


@pytest.mark.parametrize(
    "search",
    [
        SearchConfig(),
        SearchConfig(beam=1),
        SearchConfig(method="sample", n_best=2, temperature=0.5, top_k=3, top_p=0.5),
        SearchConfig(beam=3, alpha=-0.5, stop="safe", min_length=5, no_repeat=1),
    ],
    ids=str,
)
def test_the_library_accepts_all_entries(search):
    entries = generation_of(search)
    config = transformers.GenerationConfig(**entries)
    config.validate(strict=True)
    assert {name: getattr(config, name) for name in entries} == entries


@pytest.mark.parametrize(
    "search",
    [
        SearchConfig(),
        SearchConfig(beam=4, alpha=0.6, max_length=20, min_length=3, no_repeat=3),
        SearchConfig(beam=2, alpha=0.0, max_length=1),
    ],
    ids=str,
)
def test_settings_of_beam_search_come_back(search):
    assert search_of(generation_of(search), longest=1000) == search


def test_sampling_and_the_number_of_outputs_are_not_read():
    entries = generation_of(SearchConfig(method="sample", n_best=3, top_k=5, max_length=9))
    assert search_of(entries, longest=1000) == SearchConfig(beam=1, max_length=9)


def test_no_output_is_longer_than_the_model_has_positions():
    assert search_of({}, longest=64).max_length == 64
    assert search_of({"max_length": 33}, longest=64).max_length == 32
    assert search_of({"max_length": 1e30}, longest=64).max_length == 64


@pytest.mark.parametrize("value", [None, "4", True, [4], 0, -1, INFINITE, float("nan")], ids=str)
def test_an_entry_that_is_no_possible_number_is_the_default(value):
    assert search_of({"num_beams": value}, longest=256) == SearchConfig()


@pytest.mark.parametrize(
    ("entries", "name", "value"),
    [
        ({"length_penalty": INFINITE}, "alpha", 1.0),
        ({"length_penalty": -2}, "alpha", -2.0),
        ({"max_length": INFINITE}, "max_length", 256),
        ({"max_length": 1}, "max_length", 256),  # the begin token alone
        ({"min_length": -1}, "min_length", 0),
        ({"no_repeat_ngram_size": 3.0}, "no_repeat", 3),
    ],
    ids=str,
)
def test_bounds_are_those_of_the_setting(entries, name, value):
    search = search_of(entries, longest=256)
    assert getattr(search, name) == value
    assert type(getattr(search, name)) is type(value)


@pytest.mark.parametrize(
    ("search", "messages"),
    [
        (SearchConfig(max_ratio=1.0, max_extra=0, stop="safe"), []),
        (SearchConfig(method="sample", seed=7), []),
        (
            SearchConfig(method="exhaustive", max_nodes=9),
            [
                'search.method = "exhaustive" (only beam and sample)',
                "search.max_nodes = 9 (only beam and sample)",
            ],
        ),
        (
            SearchConfig(min_ratio=0.5, beam=1, stop="safe"),
            [
                "search.min_ratio = 0.5 (no limit depends on the input)",
                'search.stop = "safe" (a beam of 1 stops at its first end)',
            ],
        ),
    ],
    ids=str,
)
def test_settings_without_an_entry(search, messages):
    assert search_obstacles(search) == messages

"""Mappings between `config.json` and our settings, each by hand and in both directions."""

from types import SimpleNamespace

import pytest

from headway.interop.hugging_face.config_map import (
    ACTIVATIONS,
    ConfigMapping,
    ConfigReader,
    FixedKey,
    FixedSetting,
    HeadWidths,
    IgnoredRate,
    RenamedKey,
)
from headway.interop.unsupported import UnsupportedSettings

WIDTH = RenamedKey(("hidden", "inner"), "d_model", 8)
ACTIVATION = RenamedKey(("act",), "activation", "gelu_new", ACTIVATIONS)


def read(setting, **entries):
    """Settings, obstacles and notes of a `config.json`."""
    reader = ConfigReader(entries)
    return setting.read(reader), reader.obstacles.messages, reader.notes


def check(setting, **settings):
    unsupported = UnsupportedSettings()
    setting.check(SimpleNamespace(**settings), unsupported)
    return unsupported.messages


def test_an_entry_that_is_missing_or_null_is_the_default():
    reader = ConfigReader({"a": 0, "b": None})
    assert [reader.get(name, 5) for name in "abc"] == [0, 5, 5]


def test_tensors_are_known_by_the_beginning_of_their_names():
    reader = ConfigReader({}, frozenset({"lm_head.bias"}))
    assert reader.has_tensor("lm_head.")
    assert not reader.has_tensor("head.")
    assert not ConfigReader({}).has_tensor("")


def test_a_mapping_does_nothing_unless_told():
    assert read(ConfigMapping(), d_model=3) == ({}, [], [])
    assert ConfigMapping().write(SimpleNamespace()) == {}
    assert check(ConfigMapping()) == []


def test_several_entries_of_one_setting():
    assert read(WIDTH) == ({"d_model": 8}, [], [])
    assert read(WIDTH, hidden=6, inner=6) == ({"d_model": 6}, [], [])
    assert read(WIDTH, hidden=6) == (
        {"d_model": 6},
        ["inner = 8 (hidden = 6, and model.d_model is one for both)"],
        [],
    )
    assert WIDTH.write(SimpleNamespace(d_model=6)) == {"hidden": 6, "inner": 6}
    assert check(WIDTH, d_model="anything") == []


def test_dropout_rates_that_differ_become_the_first():
    rate = RenamedKey(("resid", "embd"), "dropout", 0.1, is_rate=True)
    assert read(rate, resid=0.2, embd=0.3) == (
        {"dropout": 0.2},
        [],
        ["embd = 0.3 is 0.2 here: model.dropout is one rate for all"],
    )


@pytest.mark.parametrize(
    ("theirs", "ours", "written"),
    [
        ("relu", "relu", "relu"),
        ("gelu_new", "gelu_tanh", "gelu_pytorch_tanh"),
        ("gelu_fast", "gelu_tanh", "gelu_pytorch_tanh"),
        ("swish", "silu", "silu"),
    ],
)
def test_values_with_other_names_are_written_under_the_first(theirs, ours, written):
    assert read(ACTIVATION, act=theirs) == ({"activation": ours}, [], [])
    assert ACTIVATION.write(SimpleNamespace(activation=ours)) == {"act": written}
    assert check(ACTIVATION, activation=ours) == []


@pytest.mark.parametrize(("value", "json"), [("mish", '"mish"'), (3, "3"), (["gelu"], '["gelu"]')])
def test_values_without_a_name_on_the_other_side(value, json):
    known = "relu, gelu, gelu_pytorch_tanh, gelu_new, gelu_fast, silu, swish"
    assert read(ACTIVATION, act=value) == ({}, [f"act = {json} (one of {known})"], [])
    assert check(ACTIVATION, activation="mish") == [
        'model.activation = "mish" (one of relu, gelu, gelu_tanh, silu)'
    ]


def test_an_entry_with_only_one_possible_value():
    fixed = FixedKey("is_decoder", False, "an encoder")
    assert read(fixed) == read(fixed, is_decoder=False) == ({}, [], [])
    assert read(fixed, is_decoder=True) == ({}, ["is_decoder = true (an encoder)"], [])
    assert fixed.write(SimpleNamespace()) == {}


def test_a_rate_that_headway_does_not_have_is_noted_unless_it_is_zero():
    rate = IgnoredRate("layerdrop")
    assert read(rate) == read(rate, layerdrop=0) == ({}, [], [])
    assert read(rate, layerdrop=0.2) == (
        {},
        [],
        ["layerdrop = 0.2 is left out: headway has no such rate"],
    )


def test_a_setting_that_is_built_in():
    fixed = FixedSetting("positions", "learned", "a table", allowed=("none",))
    assert read(fixed, positions="rotary") == ({"positions": "learned"}, [], [])
    assert fixed.write(SimpleNamespace(positions="learned")) == {}
    assert check(fixed, positions="learned") == check(fixed, positions="none") == []
    assert check(fixed, positions="rotary") == ['model.positions = "rotary" (a table)']


HEADS = HeadWidths(("hidden", 8), ("heads", 2))


@pytest.mark.parametrize(
    ("entries", "width"),
    [({}, 4), ({"hidden": 6, "heads": 3}, 2), ({"hidden": 6, "heads": 6}, 1), ({"heads": 1}, 8)],
)
def test_the_width_of_a_head(entries, width):
    assert read(HEADS, **entries) == ({"d_head": width, "d_value": width}, [], [])


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"heads": 3}, "heads = 3 (must divide hidden = 8)"),
        ({"heads": 0}, "heads = 0 (must divide hidden = 8)"),
        ({"heads": "two"}, 'heads = "two" (must divide hidden = 8)'),
        ({"hidden": [8]}, "heads = 2 (must divide hidden = [8])"),
    ],
)
def test_a_number_of_heads_that_does_not_divide_the_width(entries, message):
    assert read(HEADS, **entries) == ({}, [message], [])


def test_widths_of_heads_that_the_library_does_not_have():
    assert check(HEADS, d_model=8, n_heads=2, d_head=4, d_value=4) == []
    assert check(HEADS, d_model=9, n_heads=2, d_head=4, d_value=5) == [
        "model.d_head = 4 (must be d_model / n_heads = 4.5)",
        "model.d_value = 5 (must be d_head = 4)",
    ]

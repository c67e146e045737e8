"""The list of settings that keep a model from being exported or imported."""

from dataclasses import dataclass

import pytest

from headway.interop.unsupported import UnsupportedSettings


@dataclass
class Score:
    name: str
    rank: int


@pytest.mark.parametrize(
    ("value", "json"),
    [
        (True, "true"),
        (None, "null"),
        (1e-05, "1e-05"),
        ("post", '"post"'),
        ('a "b"', '"a \\"b\\""'),
        (["a", 1], '["a", 1]'),
        ({}, "{}"),
        (Score("low_rank", 4), '{"name": "low_rank", "rank": 4}'),
    ],
    ids=str,
)
def test_a_value_is_written_as_json(value, json):
    unsupported = UnsupportedSettings()
    unsupported.add("model.x", value, "no such model")
    assert unsupported.messages == [f"model.x = {json} (no such model)"]


def test_settings_are_kept_in_their_order_and_each_list_is_its_own():
    unsupported, other = UnsupportedSettings(), UnsupportedSettings()
    unsupported.add("b", 1, "first")
    unsupported.add("a", 2, "second")
    unsupported.add("b", 1, "first")
    assert unsupported.messages == ["b = 1 (first)", "a = 2 (second)", "b = 1 (first)"]
    assert other.messages == []

"""Texts for types, values and near misses."""

from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen, MultipleOf
from config_samples import Columns

from headway.config.messages import (
    accepts_none_word,
    counted,
    expected,
    nearest,
    nearest_keys,
    show,
)


@pytest.mark.parametrize(
    ("tp", "words"),
    [
        (bool, "true or false"),
        (int, "a whole number"),
        (Any, "any value"),
        (Annotated[float, Gt(0.0)], "a number greater than 0"),
        (Annotated[float, Ge(0), Lt(0.5)], "a number of at least 0 and less than 0.5"),
        (Annotated[int, Le(3), MultipleOf(2)], "a whole number of at most 3 and divisible by 2"),
        (Annotated[str, MinLen(1)], "text with 1 character or more"),
        (Annotated[list[str], MaxLen(2)], "a list (each item text) with 2 entries or fewer"),
        (tuple[int, ...], "a list (each item a whole number)"),
        (tuple[int, str], "a list of exactly 2 (a whole number; text)"),
        (dict[str, float], "a table (each value a number)"),
        (Literal["a"], '"a"'),
        (Literal["a", "b"], 'one of "a", "b"'),
        (Columns, "a table with keys source, target"),
        (int | None, 'a whole number or "none"'),
        (str | None, "text"),
        (int | bool | str, "a whole number, true or false or text"),
    ],
)
def test_what_is_expected(tp, words):
    assert expected(tp) == words


def test_none_is_a_word_where_no_text_is_allowed():
    assert accepts_none_word(int | None)
    assert not accepts_none_word(str | None)
    assert not accepts_none_word(int)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (None, "none"),
        ('a"b', '"a\\"b"'),
        ([1, "a"], '[1, "a"]'),
        ({"a b": 1.5}, '{"a b" = 1.5}'),
        ("x" * 58, '"' + "x" * 58 + '"'),
        ("x" * 59, '"' + "x" * 56 + "..."),
    ],
)
def test_values_as_toml(value, text):
    assert show(value) == text


@pytest.mark.parametrize(
    ("name", "near"),
    [("learning_rate", "lr"), ("Drop-out", "drop_out"), ("droput", "drop_out"), ("xyz", None)],
)
def test_the_nearest_name(name, near):
    assert nearest(name, ["lr", "drop_out"]) == near
    assert nearest(name, []) is None


def test_a_near_miss_in_the_same_section_is_preferred_unless_another_has_the_very_name():
    known = ["train.steps", "model.step"]
    assert nearest_keys("train.stepz", known) == ["train.steps"]
    assert nearest_keys("model.stepz", known) == ["model.step"]
    others = ["train.steps", "data.stepwise", "model.step"]
    assert nearest_keys("data.step", others) == ["model.step"]
    assert nearest_keys("train.xyz", known) == []


def test_all_sections_with_the_very_name_are_named_those_of_the_same_table_first():
    known = ["text.dropout", "model.dropout", "model.dropouts"]
    assert nearest_keys("train.dropout", known) == known[:2]
    assert nearest_keys("data.source", ["data.train.source", "text.source"]) == [
        "data.train.source"
    ]


def test_in_another_section_half_of_a_name_is_a_coincidence():
    assert nearest_keys("train.max_grad", ["search.max_ratio", "model.graph"]) == []


def test_a_number_with_its_noun():
    words = ["0 fields", "1 field", "2 fields", "2,000 fields"]
    assert [counted(n, "field") for n in (0, 1, 2, 2000)] == words

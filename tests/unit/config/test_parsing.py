import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import annotated_types
import pytest
from config_samples import Columns, Data, Gru, Run, Train, Transformer
from hypothesis import example, given
from hypothesis import strategies as st

from headway.config import Choice, parse, parsing
from headway.errors import ConfigError

MINIMAL = {"data": {"train": "pairs.tsv"}}


def problems(raw: dict[str, Any], cls: type = Run) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse(raw, cls, "run.toml")
    return str(caught.value).splitlines()


def problems_with(**sections: Any) -> list[str]:
    return problems({**MINIMAL, **sections})


def test_the_minimum_takes_every_default():
    assert parse(MINIMAL, Run, "run.toml") == Run(data=Data(train="pairs.tsv"))


def test_values_of_every_shape_arrive_with_their_python_types():
    raw = {
        "task": "predict",
        "data": {
            "train": ["a.tsv", {"source": "a.en", "target": "a.de"}],
            "weights": [1, 2.5],
            "span": [3, 4],
        },
        "train": {"lr": 1, "clip": 2, "patience": 5, "batch": 8, "groups": {"a b": 1}},
        "model": {"family": "gru", "cells": 2},
    }
    run = parse(raw, Run, "run.toml")
    assert run.data.train == ["a.tsv", Columns("a.en", "a.de")]
    assert run.data.weights == (1.0, 2.5)
    assert run.data.span == (3, 4)
    assert (run.train.lr, type(run.train.lr)) == (1.0, float)
    assert run.train == Train(lr=1.0, clip=2.0, patience=5, batch=8, groups={"a b": 1.0})
    assert run.model == Gru(cells=2)


def test_a_table_where_texts_are_possible_too():
    run = parse({"data": {"train": {"source": "a"}}}, Run, "run.toml")
    assert run.data.train == Columns("a")


def test_unknown_key_suggests_by_initials():
    assert problems_with(train={"learning_rate": 0.1}) == [
        "run.toml: unknown key train.learning_rate; did you mean train.lr?"
    ]


def test_unknown_key_suggests_by_spelling():
    assert problems_with(train={"stpes": 3}) == [
        "run.toml: unknown key train.stpes; did you mean train.steps?"
    ]


def test_unknown_key_at_the_top_suggests_its_section():
    assert problems_with(lr=0.1) == ["run.toml: unknown key lr; it is train.lr"]


def test_the_very_name_elsewhere_beats_a_near_miss_here():
    assert problems_with(train={"dropout": 0.1}) == [
        "run.toml: unknown key train.dropout; it is model.dropout"
    ]


def test_unknown_section():
    assert problems_with(trian={"lr": 1}) == ["run.toml: unknown key trian; did you mean train?"]


def test_unknown_key_like_nothing_lists_what_there_is():
    assert problems_with(zzz=1) == [
        "run.toml: unknown key zzz; known here: data, task, train, model"
    ]


def test_unknown_key_that_needs_quotes():
    assert problems_with(**{"a b": 1})[0].startswith('run.toml: unknown key "a b"; known here')


def test_missing_required_key_says_what_is_wanted():
    wanted = (
        "run.toml: missing key data.train: expected text, a table with keys source, target "
        "or a list (each item text or a table with keys source, target)"
    )
    assert problems({}) == [wanted]
    assert problems({"data": {}}) == [wanted]


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"lr": "fast"}, 'train.lr = "fast": expected a number greater than 0'),
        ({"lr": 0}, "train.lr = 0: expected a number greater than 0"),
        ({"lr": -0.5}, "train.lr = -0.5: expected a number greater than 0"),
        ({"lr": math.nan}, "train.lr = nan: expected a number greater than 0"),
        ({"lr": True}, "train.lr = true: expected a number greater than 0"),
        ({"lr": "0.1"}, 'train.lr = "0.1": expected a number greater than 0; write 0.1'),
        ({"steps": True}, "train.steps = true: expected a whole number of at least 1"),
        ({"steps": 2.5}, "train.steps = 2.5: expected a whole number of at least 1"),
        ({"steps": 1e2}, "train.steps = 100.0: expected a whole number of at least 1; write 100"),
        (
            {"dropout_rate": 1},
            "train.dropout_rate = 1: expected a number of at least 0 and less than 1",
        ),
        ({"patience": 0}, 'train.patience = 0: expected a whole number of at least 1 or "none"'),
        ({"batch": 0}, 'train.batch = 0: expected a whole number of at least 1 or "auto"'),
        ({"shuffle": 1}, "train.shuffle = 1: expected true or false"),
        ({"shuffle": "True"}, 'train.shuffle = "True": expected true or false; write true'),
        ({"groups": {"x": "y"}}, 'train.groups.x = "y": expected a number'),
        ({"groups": 3}, "train.groups = 3: expected a table (each value a number)"),
        ({"names": []}, "train.names = []: expected a list (each item text) with 1 entry or more"),
        ({"names": ["a", 3]}, 'train.names[1] = 3: expected text; write "3"'),
        ({"names": 3}, "train.names = 3: expected a list (each item text) with 1 entry or more"),
    ],
)
def test_wrong_values(section, message):
    assert problems_with(train=section) == [f"run.toml: {message}"]


def test_a_section_must_be_a_table():
    (problem,) = problems_with(train=3)
    assert problem.startswith("run.toml: train = 3: expected a table with keys lr, steps,")
    assert problems_with(model=3) == ["run.toml: model = 3: expected a table"]


def test_long_values_are_cut():
    (problem,) = problems_with(train={"lr": "x" * 500})
    assert len(problem) < 150
    assert "xxx...: expected a number greater than 0" in problem


def test_fixed_length_lists():
    wanted = "expected a list of exactly 2 (a whole number; a whole number)"
    assert problems({"data": {"train": "a", "span": [1]}}) == [
        f"run.toml: data.span = [1]: {wanted}"
    ]


def test_none_is_a_word_where_no_text_is_allowed():
    run = parse({**MINIMAL, "train": {"clip": "none"}}, Run, "run.toml")
    assert run.train.clip is None
    assert parse({"data": {"train": "none", "root": "none"}}, Run, "x").data.root == "none"


def test_python_none_is_accepted_where_optional():
    assert parse({**MINIMAL, "train": {"clip": None}}, Run, "x").train.clip is None


def test_literals():
    assert problems_with(model={"norm": "lyer"}) == [
        'run.toml: model.norm = "lyer": expected one of "layer", "rms"; did you mean "layer"?'
    ]
    assert problems_with(model={"norm": "ln"}) == [
        'run.toml: model.norm = "ln": expected one of "layer", "rms"'
    ]


def test_one_is_not_true_in_a_literal():
    @dataclass(frozen=True)
    class Numbers:
        level: Literal[1, 2]

    assert parse({"level": 1}, Numbers, "run.toml").level == 1
    assert problems({"level": True}, Numbers) == [
        "run.toml: level = true: expected one of 1, 2",
    ]


def test_inside_a_union_the_member_of_that_shape_speaks():
    assert problems({"data": {"train": {"sorce": "a"}}}) == [
        "run.toml: unknown key data.train.sorce; did you mean data.train.source?",
        "run.toml: missing key data.train.source: expected text",
    ]
    assert problems({"data": {"train": ["a", {"source": "b", "x": 1}]}}) == [
        "run.toml: unknown key data.train[1].x; "
        "known here: data.train[1].source, data.train[1].target"
    ]


def test_cross_field_checks_name_the_section():
    assert problems_with(model={"d_model": 10}) == [
        "run.toml: model: d_model=10 is not divisible by n_heads=4; try n_heads=1"
    ]


def test_cross_field_checks_at_the_top_need_no_name():
    @dataclass(frozen=True)
    class Never:
        def __post_init__(self) -> None:
            raise ValueError("it does not fit")

    assert problems({}, Never) == ["run.toml: it does not fit"]


def test_all_problems_at_once():
    raw = {"lr": 1, "data": {}, "train": {"steps": 0}, "model": {"d_model": 10}}
    assert [line.split(":")[1][:18] for line in problems(raw)] == [
        " unknown key lr; i",
        " missing key data.",
        " train.steps = 0",
        " model",
    ]


def test_choice_default_applies_when_the_section_does_not_choose():
    assert parse({**MINIMAL, "model": {"n_heads": 8}}, Run, "x").model == Transformer(n_heads=8)


def test_unknown_choice_lists_the_known():
    assert problems_with(model={"family": "transfomer"}) == [
        'run.toml: model.family = "transfomer": expected one of "transformer", "gru"; '
        'did you mean "transformer"?'
    ]
    assert problems_with(model={"family": 3}) == [
        'run.toml: model.family = 3: expected one of "transformer", "gru"'
    ]


def test_a_key_of_another_choice_says_whose_it_is():
    assert problems_with(model={"family": "gru", "n_heads": 2, "d_model": 0}) == [
        'run.toml: unknown key model.n_heads for model.family = "gru"; it belongs to "transformer"',
        "run.toml: model.d_model = 0: expected a whole number of at least 1",
    ]


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("heads", ' for model.family = "gru"; model.n_heads belongs to "transformer"'),
        ("norms", "; did you mean model.normed?"),  # norm is nearer, but of another family
        ("lr", "; it is train.lr"),
        ("zzz", "; known here: model.d_model, model.cells, model.normed"),
    ],
)
def test_only_keys_that_the_choice_has_are_suggested(name, advice):
    assert problems_with(model={"family": "gru", name: 4}) == [
        f"run.toml: unknown key model.{name}{advice}"
    ]


def test_the_choosing_key_itself_is_suggested():
    assert problems_with(model={"famly": "gru"}) == [
        "run.toml: unknown key model.famly; did you mean model.family?"
    ]


def test_choice_without_a_default_is_required():
    @dataclass(frozen=True)
    class Strict:
        model: Annotated[Any, Choice("kind", lambda: {"a": Gru, "b": Columns})]

    assert problems({}, Strict) == ['run.toml: missing key model.kind: expected one of "a", "b"']
    assert parse({"model": {"kind": "b", "source": "s"}}, Strict, "x").model == Columns("s")


JSON_LIKE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)
NAMES = st.sampled_from(["data", "train", "model", "lr", "source", "family", "steps", "batch"])


@example({"data": {"\n": None}})
@example({"a\r\n\u2028": {"lr": {"\n": "\x00"}}})
@given(st.dictionaries(NAMES, st.dictionaries(NAMES, JSON_LIKE, max_size=3) | JSON_LIKE))
def test_whatever_comes_in_the_answer_is_settings_or_a_config_error(raw):
    try:
        lines = [f"run.toml: {type(parse(raw, Run, 'run.toml')).__name__}"]
    except ConfigError as error:
        lines = str(error).splitlines()
    assert all(line.startswith("run.toml: ") for line in lines)


@pytest.mark.parametrize(
    ("tp", "value", "fits"),
    [
        (int, True, False),
        (bool, 1, False),
        (float, 1, True),
        (float, float("nan"), False),
        (float, float("inf"), True),
        (float, 10**400, False),
        (int, 1.0, False),
        (str, 1, False),
        (Annotated[int, annotated_types.MultipleOf(4)], 8, True),
        (Annotated[int, annotated_types.MultipleOf(4)], 9, False),
        (Annotated[float, annotated_types.Gt(0), annotated_types.Lt(1)], 1, False),
        (Annotated[list, annotated_types.MinLen(1)], [], False),
    ],
)
def test_types_and_bounds_by_hand(tp, value, fits):
    assert parsing._accepts(tp, value) is fits


def test_a_bound_nobody_knows_is_a_bug():
    with pytest.raises(TypeError, match="is not a bound of settings"):
        parsing._accepts(Annotated[int, "even"], 2)

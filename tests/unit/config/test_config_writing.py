import tomllib
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from config_samples import Columns, Data, Gru, Run, Train, Transformer
from hypothesis import given
from hypothesis import strategies as st

from headway.config import Choice, parse, to_dict, to_toml

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
POSITIVE = st.floats(min_value=1e-300, allow_nan=False, allow_infinity=True)
COLUMNS = st.builds(Columns, source=TEXT, target=st.none() | TEXT)
DATA = st.builds(
    Data,
    train=TEXT | COLUMNS | st.lists(TEXT | COLUMNS, max_size=3),
    root=st.none() | TEXT,
    weights=st.lists(POSITIVE, max_size=3).map(tuple),
    span=st.tuples(st.integers(), st.integers()),
)
TRAIN = st.builds(
    Train,
    lr=POSITIVE,
    steps=st.integers(1),
    dropout_rate=st.floats(0, 1, exclude_max=True),
    clip=st.none() | POSITIVE,
    patience=st.none() | st.integers(1),
    batch=st.just("auto") | st.integers(1),
    shuffle=st.booleans(),
    groups=st.dictionaries(TEXT, st.floats(allow_nan=False), max_size=3),
    names=st.lists(TEXT, min_size=1, max_size=3),
)
MODEL = st.builds(Gru, cells=st.integers()) | st.builds(
    Transformer, norm=st.sampled_from(["layer", "rms"]), n_heads=st.sampled_from([1, 2, 8])
)


@given(st.builds(Run, data=DATA, task=TEXT, train=TRAIN, model=MODEL))
def test_what_is_written_reads_back_the_same(run):
    text = to_toml(run)
    assert parse(tomllib.loads(text), Run, "run.toml") == run
    assert parse(to_dict(run), Run, "run.toml") == run


def test_none_is_left_out_where_it_is_the_default_and_named_where_not():
    table = to_dict(Run(data=Data(train="a"), train=Train(clip=None)))
    assert "patience" not in table["train"]
    assert "root" not in table["data"]
    assert table["train"]["clip"] == "none"


def test_plain_types_only():
    table = to_dict(Data(train=[Columns("a"), "b"], weights=(1.0,)))
    assert table == {"train": [{"source": "a"}, "b"], "weights": [1.0], "span": [0, 1]}
    assert type(table["weights"]) is list


def test_a_choice_is_named_even_by_a_class_that_does_not_hold_its_name():
    data = Data(train="a")
    assert to_dict(Run(data=data, model=Gru()))["model"]["family"] == "gru"
    assert to_dict(Run(data=data, model=Transformer()))["model"]["family"] == "transformer"


def test_choices_in_a_list_are_named_too():
    @dataclass(frozen=True)
    class Several:
        parts: list[Annotated[Any, Choice("kind", lambda: {"gru": Gru, "columns": Columns})]]

    several = Several(parts=[Columns("a"), Gru()])
    assert [part["kind"] for part in to_dict(several)["parts"]] == ["columns", "gru"]
    assert parse(tomllib.loads(to_toml(several)), Several, "x") == several


def test_a_class_under_two_names_must_hold_its_name():
    @dataclass(frozen=True)
    class Twice:
        model: Annotated[Any, Choice("kind", lambda: {"a": Gru, "b": Gru})]

    with pytest.raises(TypeError, match="Gru stands under 2 names of kind"):
        to_dict(Twice(model=Gru()))

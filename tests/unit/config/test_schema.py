"""The schema of settings classes: keys, docstrings, types, and refusals."""

from dataclasses import MISSING, dataclass, field
from types import NoneType
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Interval, Le
from config_samples import Columns, Gru, Run, Train

from headway.config import Choice, parse, schema, to_dict


def test_programmers_mistakes_are_type_errors():
    @dataclass(frozen=True)
    class Sets:
        some: set[int]

    @dataclass(frozen=True)
    class Unreachable:
        some: str | None = "a"

    @dataclass(frozen=True)
    class OwnDefault:
        train: Train = field(default_factory=lambda: Train(lr=5.0))

    for cls, message in [
        (Sets, "Sets.some: run files do not support the type set"),
        (Unreachable, "Unreachable.some: a text that may be None needs the default None"),
        (OwnDefault, "OwnDefault.train: its default must be the class's own"),
    ]:
        with pytest.raises(TypeError, match=message.replace("[", r"\[")):
            parse({}, cls, "run.toml")


def test_a_class_under_two_names_must_hold_its_name():
    @dataclass(frozen=True)
    class Twice:
        model: Annotated[Any, Choice("kind", lambda: {"a": Gru, "b": Gru})]

    with pytest.raises(TypeError, match="Gru has 2 names of kind"):
        to_dict(Twice(model=Gru()))


def test_keys_have_their_types_defaults_and_docstrings():
    source, target = schema.keys(Columns)
    assert (source.name, source.type, source.doc) == ("source", str, "The side that is read.")
    assert source.default is MISSING
    assert (target.default, target.doc) == (None, "")


def test_summaries_are_first_sentences_without_marks():
    @dataclass(frozen=True)
    class Marked:
        rate: float = 0.1
        """The `rate` of
        dropping. Not of falling."""

    assert schema.summaries(Marked) == {"rate": "The rate of dropping."}


def test_bounds_around_a_union_move_onto_what_they_bound():
    assert schema.alternatives(Annotated[int | None, Ge(1)]) == (Annotated[int, Ge(1)], NoneType)
    assert schema.alternatives(int) == (int,)
    assert schema.split(Annotated[int, Interval(ge=1, le=2)]) == (int, (Ge(1), Le(2)))


def test_names_that_are_asked_for_when_read():
    names = ["a"]
    tp = Annotated[str, schema.OneOf(lambda: names)]
    names.append("b")
    assert schema.split(tp) == (Literal["a", "b"], ())


def test_sections_and_tables():
    assert schema.section_of(Columns | None) is Columns
    assert schema.section_of(str | Columns) is None
    assert list(schema.tables_in(str | list[str | Columns])) == [Columns]
    assert schema.has_key(Columns, "target")
    assert not schema.has_key(Columns, "other")


def test_every_key_of_every_choice_is_known():
    known = list(schema.known_keys(Run))
    assert {"data.root", "model.family", "model.cells", "model.n_heads", "task"} <= set(known)
    assert "model.source" not in known


@pytest.mark.parametrize(
    ("name", "dotted"), [("lr", "train.lr"), ("a b", 'train."a b"'), ("", 'train.""')]
)
def test_dotted_keys(name, dotted):
    assert schema.join("train", name) == dotted


def test_quoting():
    assert schema.quote('a"\\\n\x07é\U0010ffff') == '"a\\"\\\\\\n\\u0007é\\U0010ffff"'

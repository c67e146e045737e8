from dataclasses import dataclass, make_dataclass
from typing import Annotated, Any

from config_samples import Run, Train

from headway.config import Choice, describe

LINES = describe(Run).splitlines()


def test_sections_come_in_order():
    assert [line for line in LINES if line.startswith("#")] == [
        "## Top level",
        "## `[data]`",
        "## `[data.train]`, written as a table",
        "## `[train]`",
        "## `[model]`",
        '### `[model]` with `family = "transformer"`',
        '### `[model]` with `family = "gru"`',
    ]


def test_a_row_says_key_type_default_and_meaning():
    assert '| `task` | text | `"translate"` | What the model is trained for. |' in LINES
    assert "| `data.root` | text | not set |  |" in LINES
    (row,) = [line for line in LINES if line.startswith("| `train.lr` |")]
    assert row.endswith(
        "a number greater than 0 | `0.001` | Peak learning rate \\| of the schedule. |"
    )
    assert '| `model.norm` | one of "layer", "rms" | `"layer"` |  |' in LINES
    (row,) = [line for line in LINES if line.startswith("| `data.train` |")]
    assert "| **required** | Training examples: a table's name," in row


def test_sections_carry_their_class_docstring_and_choices_their_names():
    assert "Where examples come from." in LINES
    assert '`model.family` is one of `"transformer"`, `"gru"` (default `"transformer"`).' in LINES
    assert not any("`model.family` |" in line for line in LINES)


def test_inherited_docs_and_late_classes():
    @dataclass(frozen=True)
    class Child(Train):
        own: int = 1
        """My own."""

    page = describe(Child)
    assert "Peak learning rate" in page
    assert "| `own` | a whole number | `1` | My own. |" in page
    assert "| `x` | a whole number | **required** |" in describe(make_dataclass("M", [("x", int)]))


def test_a_table_of_an_option_is_below_it():
    """Families may have tables of their own, in `[model]`."""

    @dataclass(frozen=True)
    class Inner:
        patch: int = 1
        """Steps of a patch."""

    @dataclass(frozen=True)
    class Reader:
        family: str = "reader"
        input: Inner | None = None

    @dataclass(frozen=True)
    class Whole:
        model: Annotated[Any, Choice("family", lambda: {"reader": Reader})] = None

    lines = describe(Whole).splitlines()
    headings = [line for line in lines if line.startswith("#")]
    assert headings[-2:] == [
        '### `[model]` with `family = "reader"`',
        "#### `[model.input]` (optional)",
    ]
    assert "| `model.input.patch` | a whole number | `1` | Steps of a patch. |" in lines


def test_a_class_without_a_docstring_is_not_given_its_signature():
    @dataclass(frozen=True)
    class Inner:
        x: int = 1

    @dataclass(frozen=True)
    class Outer:
        inner: Inner | None = None

    assert describe(Outer) == (
        "## `[inner]` (optional)\n\n| key | value | default | meaning |\n|---|---|---|---|\n"
        "| `inner.x` | a whole number | `1` |  |\n"
    )

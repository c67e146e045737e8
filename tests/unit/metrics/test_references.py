"""References in both forms, and test sets that cannot be scored."""

import pytest

from headway.errors import DataError
from headway.metrics.references import alternatives, count_label


def test_a_text_is_a_list_of_one_and_lists_stay():
    assert alternatives(["x", "y"], ["a b", ""]) == [["a b"], [""]]
    assert alternatives(["x", "y"], [("a", "b"), ["c"]]) == [["a", "b"], ["c"]]
    assert alternatives(["x", "y"], ["a", ["b", "c"]]) == [["a"], ["b", "c"]]


def test_the_lists_are_copies():
    references = [["a"]]
    alternatives(["x"], references)[0].append("b")
    assert references == [["a"]]


@pytest.mark.parametrize(
    ("outputs", "references", "message"),
    [
        (
            ["x", "y"],
            ["a"],
            "2 outputs but 1 references; expected one reference, or one list of alternatives, "
            "for each output",
        ),
        ([], [], "no outputs to score: got 0 lines, expected at least 1; check the input"),
        (
            ["x", "y"],
            [["a"], []],
            "output 2 has no reference: got an empty list, expected at least one alternative; "
            "leave the line out or add a reference",
        ),
    ],
)
def test_sets_that_cannot_be_scored(outputs, references, message):
    with pytest.raises(DataError) as error:
        alternatives(outputs, references)
    assert str(error.value) == message


def test_the_number_of_references_in_a_signature():
    assert count_label([["a"], ["b"]]) == "1"
    assert count_label([["a", "b"], ["c", "d"]]) == "2"
    assert count_label([["a"], ["b", "c"]]) == "var"

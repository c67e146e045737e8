import pytest

from headway.errors import DataError
from headway.view.labels import check_labels, visible_token


def test_white_space_is_visible():
    assert [visible_token(t) for t in (" a", "\n", "\t", "", "b")] == ["␣a", "⏎", "⇥", "∅", "b"]


def test_labels_that_do_not_fit_are_refused():
    check_labels([[1.0, 0.0]], ["a"], ["c", "d"], "heat map", "weight")
    check_labels([], [], [])
    with pytest.raises(DataError, match=r"^the heat map has 1 rows of weights but 2 row labels"):
        check_labels([[1.0]], ["a", "b"], ["c"], "heat map", "weight")
    with pytest.raises(
        DataError, match=r"^row 2 of the heat map has 1 weights but there are 2 col"
    ):
        check_labels([[1.0, 0.0], [1.0]], ["a", "b"], ["c", "d"], "heat map", "weight")

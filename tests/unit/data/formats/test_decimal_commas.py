"""Numbers with decimal commas: single texts, and what a column shows."""

import numpy as np
import pytest

from headway.data.formats.decimal_commas import (
    are_grouped,
    comma_number,
    find_commas,
    without_groups,
)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,5", 1.5),
        (" -1.234,5 ", -1234.5),
        ("1\u202f234\u202f567", 1234567.0),
        ("1,5e3", 1500.0),
        ("1.234", 1234.0),
        ("1.23", None),
        ("1.234 567", None),
        ("1,234,567", None),
        ("1,234.5", None),
        ("x", None),
    ],
)
def test_numbers(text, number):
    assert comma_number(text) == number


def test_columns():
    assert find_commas(["1.5", "x"], {"1.5": 1.5, "x": None}) is None
    assert find_commas(["1,5", "x", "y"], {"1,5": None, "x": None, "y": None}) is None
    cells = ["", "1,5", "x", "2"]
    found = find_commas(cells, {"": np.nan, "1,5": None, "x": None, "2": 2.0})
    np.testing.assert_array_equal(found.numbers, [np.nan, 1.5, np.nan, 2])
    assert found.is_text.tolist() == [False, False, True, False]
    assert (found.first, found.pointed, found.is_unclear) == (1, None, False)
    found = find_commas(["1.5", "2,500"], {"1.5": 1.5, "2,500": None})
    assert (found.pointed, found.is_unclear) == (0, True)


def test_groups_of_digits():
    cells, numbers = ["1.234", "", "12.345"], np.array([1.234, np.nan, 12.345])
    assert are_grouped(cells, numbers)
    np.testing.assert_array_equal(without_groups(cells, numbers), [1234, np.nan, 12345])
    assert not are_grouped(["0.234"], np.array([0.234]))
    assert not are_grouped([""], np.array([np.nan]))

"""Errors of single inputs: raised at once, or kept in the place of their results."""

import pytest

from headway.errors import DataError, InputError
from headway.inference.input_errors import InputErrors
from headway.inference.requests import TranslationRequest
from headway.inference.results import Translation


def input_errors(inputs, on_error="keep") -> InputErrors:
    return InputErrors(inputs, on_error, lambda row: f"text {row + 1}")


def refuse(errors: InputErrors, row: int) -> None:
    with errors.of(row):
        raise DataError(f"input {row} is too long")


def test_the_first_error_stops():
    with pytest.raises(InputError, match=r"^input 1 is too long$"):
        refuse(input_errors(["a", "b"], "stop"), 1)


def test_kept_errors_are_results():
    errors = input_errors(["a", "b", "c"])
    refuse(errors, 1)
    assert errors.rows == [0, 2]
    first, error, last = errors.with_results(iter([10, 30]))
    assert (first, last) == (10, 30)
    assert isinstance(error, InputError)
    assert error.error == "input 1 is too long"


def test_an_error_in_place_of_an_input_stays():
    errors = input_errors([InputError("a.txt:1: not UTF-8"), "b"])
    assert errors.rows == [1]
    assert [str(result) for result in errors.with_results([2])] == ["a.txt:1: not UTF-8", "2"]
    with pytest.raises(InputError, match="not UTF-8"):
        input_errors([InputError("a.txt:1: not UTF-8")], "stop")


@pytest.mark.parametrize("value", ["\ud800", ("a", "\ud800"), TranslationRequest("\ud800")])
def test_half_a_character_is_an_error_of_its_input(value):
    assert input_errors(["a", value]).rows == [0]
    with pytest.raises(InputError, match=r"^text 2: text has a lone surrogate"):
        input_errors(["a", value], "stop")


def test_other_errors_are_not_of_the_input():
    errors = input_errors(["a"])
    with pytest.raises(ZeroDivisionError), errors.of(0):
        1 / 0  # noqa: B018


def test_results_of_usable_inputs_have_no_error():
    assert Translation("a", []).error is None

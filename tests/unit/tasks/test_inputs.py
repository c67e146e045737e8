"""Inputs of `classify` and `regress`: texts and series have one interface."""

import pytest

from headway.tasks.inputs import Inputs
from headway.tasks.series_inputs import SeriesInputs
from headway.tasks.text_inputs import TextInputs


@pytest.mark.parametrize("kind", [TextInputs, SeriesInputs])
def test_every_kind_of_input_has_the_interface(kind):
    assert issubclass(kind, Inputs)
    assert not kind.__abstractmethods__
    assert kind.noun
    assert kind.plural


def test_the_kinds_have_columns_of_their_own():
    assert not set(TextInputs.columns) & set(SeriesInputs.columns)


def test_only_texts_are_limited_by_max_length():
    assert TextInputs.is_limited
    assert not SeriesInputs.is_limited

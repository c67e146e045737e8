"""Numbers of texts: drawn from text and seed alone, and even."""

import pytest

from headway.data.random_numbers import number_of_text


def test_numbers_are_those_of_the_text_alone():
    assert number_of_text("Ein Café", 1) == number_of_text(" ein  cafe\u0301 ", 1)
    assert number_of_text("a", 1) != number_of_text("a", 2)
    numbers = [number_of_text(str(i), 1) for i in range(1000)]
    assert all(0 <= number < 1 for number in numbers)
    assert sum(numbers) / 1000 == pytest.approx(0.5, abs=0.05)

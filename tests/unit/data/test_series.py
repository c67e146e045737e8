"""Series: lengths, times, what is missing, filling and digests."""

import numpy as np
import pytest

from headway.data.frequency import Frequency
from headway.data.series import Series, filled, missing_in

NAN = np.nan


def series(values, **fields):
    settings = {"name": "s", "columns": ("a",), "start": 0, "frequency": Frequency("step")} | fields
    return Series(values=np.asarray(values), **settings)


def test_length_and_times():
    one = series([[1.0], [2.0]], start=np.datetime64("2020-01-01", "s"), frequency=Frequency("M"))
    assert len(one) == 2
    assert [str(time)[:10] for time in one.times] == ["2020-01-01", "2020-02-01"]


def test_missing_numbers_and_categories():
    assert series([[1.0], [NAN]]).is_missing.tolist() == [[False], [True]]
    objects = np.array([["a", None], ["b", "1"]], object)
    assert missing_in(objects).tolist() == [[False, True], [False, False]]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([NAN, 1.0, NAN, NAN, 4.0, NAN], [1, 1, 2, 3, 4, 4]),
        ([1.0, 2.0], [1, 2]),
        ([NAN, 5.0], [5, 5]),
    ],
)
def test_filled_numbers(column, expected):
    values = np.array(column)[:, None]
    assert filled(values)[:, 0].tolist() == expected
    assert np.array_equal(values[:, 0], column, equal_nan=True)


def test_a_column_without_values_stays_missing():
    assert np.isnan(filled(np.full((3, 1), NAN))).all()


def test_filled_categories():
    values = np.array([[None], ["a"], [None], ["b"], [None]], object)
    assert filled(values)[:, 0].tolist() == ["a", "a", "a", "b", "b"]


def test_the_digest_is_that_of_the_values():
    one = series([[1.0], [2.0]])
    assert one.digest() == series([[1.0], [2.0]], name="other", start=5).digest()
    assert one.digest() != series([[1.0], [3.0]]).digest()
    texts = np.array([["a"], [None]], object)
    assert series(texts).digest() == series(texts.copy()).digest() != one.digest()

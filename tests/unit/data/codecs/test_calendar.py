"""The codec of the calendar: positions on a circle, computed by hand."""

import numpy as np
import pytest
from forecast_runs import START, series

from headway.data.codecs.calendar import FACTS, CalendarCodec
from headway.data.frequency import Frequency


def shares(fact, start, frequency="h", n=1, horizon=0):
    """The share of its circle at which each step is."""
    one = series(np.zeros(n), start=np.datetime64(start, "s"), frequency=Frequency.parse(frequency))
    sine, cosine = CalendarCodec((fact,), horizon).encode(one).T
    assert sine**2 + cosine**2 == pytest.approx(1, abs=1e-6)
    return (np.arctan2(sine, cosine) / (2 * np.pi) % 1.0).tolist()


@pytest.mark.parametrize(
    ("fact", "start", "expected"),
    [
        ("minute", "2024-01-01T05:15", 0.25),
        ("hour", "2024-01-01T18:00", 0.75),
        ("hour", "2024-01-01T00:30", 1 / 48),
        ("weekday", "2024-01-01", 0.0),  # a Monday
        ("weekday", "2024-01-07T23:00", 6 / 7),
        ("weekday", "1969-12-28", 6 / 7),
        ("monthday", "2024-02-01", 0.0),
        ("monthday", "2024-02-29T12:00", 28 / 31),
        ("yearday", "2024-01-01", 0.0),
        ("yearday", "2024-12-31", 365 / 366),
        ("month", "2024-10-15", 0.75),
        ("month", "1969-10-15", 0.75),
    ],
)
def test_the_share_of_each_circle(fact, start, expected):
    assert shares(fact, start) == [pytest.approx(expected, abs=1e-6)]


def test_it_goes_on_over_the_horizon():
    assert shares("hour", "2024-01-01T21:00", n=2, horizon=3) == pytest.approx(
        [21 / 24, 22 / 24, 23 / 24, 0, 1 / 24], abs=1e-6
    )


def test_months_step_by_the_calendar():
    found = shares("month", "2023-11-01", "M", n=2, horizon=2)
    assert found == pytest.approx([10 / 12, 11 / 12, 0, 1 / 12], abs=1e-6)


def test_the_day_that_dates_a_month_does_not_matter():
    for fact in ("month", "yearday", "monthday"):
        expected = shares(fact, "2023-11-01", "M", n=4)
        assert shares(fact, "2023-11-30", "ME", n=4) == pytest.approx(expected, abs=1e-6)


def test_sines_come_before_cosines():
    codec = CalendarCodec(("hour", "weekday"), 0)
    [row] = codec.encode(series([1.0]))  # Monday, midnight
    assert row.tolist() == [0, 0, 1, 1]
    assert codec.width == 4
    assert codec.column("calendar").shape == (4,)


def test_numbered_steps_have_no_calendar():
    numbered = series([1, 2], start=7, frequency=Frequency("step"))
    found = CalendarCodec(("hour",), 3).encode(numbered)
    assert found.shape == (5, 2)
    assert not found.any()


def test_every_fact_is_known_and_in_the_fingerprint():
    codec = CalendarCodec(tuple(FACTS), 2)
    assert codec.encode_batch([series(np.zeros(3), start=START)])[0].shape == (5, 12)
    assert codec.fingerprint() != CalendarCodec(tuple(FACTS), 3).fingerprint()
    assert codec.fingerprint() != CalendarCodec(("hour",), 2).fingerprint()
    assert not codec.is_blank(series([1.0]))
    assert codec.amount(series([1.0, 2.0])) == 24

"""Frequencies: names, inference, the grid of times, seasons."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.data.frequency import FIRST, LAST, LAST_WEEKDAY, UNITS, Frequency


def dates(*texts):
    return np.array(texts, "datetime64[s]")


def every(start, seconds, n):
    return np.datetime64(start, "s") + np.arange(n) * np.timedelta64(seconds, "s")


@pytest.mark.parametrize(
    ("text", "frequency"),
    [
        ("15min", Frequency("min", 15)),
        ("15T", Frequency("min", 15)),
        ("h", Frequency("h")),
        ("H", Frequency("h")),
        ("hourly", Frequency("h")),
        ("1D", Frequency("D")),
        ("B", Frequency("B")),
        ("W-SUN", Frequency("W", anchor="SUN")),
        ("2 weeks", Frequency("W", 2)),
        ("M", Frequency("M")),
        ("MS", Frequency("M", anchor=FIRST)),
        ("ME", Frequency("M", anchor=LAST)),
        ("2BME", Frequency("M", 2, LAST_WEEKDAY)),
        ("M-15", Frequency("M", anchor="15")),
        ("M-31", Frequency("M", anchor=LAST)),
        ("Q-DEC", Frequency("Q")),
        ("QS", Frequency("Q", anchor=FIRST)),
        ("A", Frequency("Y")),
        ("YE", Frequency("Y", anchor=LAST)),
        ("10S", Frequency("s", 10)),
        ("step", Frequency("step")),
    ],
)
def test_names(text, frequency):
    assert Frequency.parse(text) == frequency


@given(unit=st.sampled_from([unit for unit in UNITS if unit != "B"]), n=st.integers(1, 1_000_000))
def test_the_text_of_a_frequency_is_read_back(unit, n):
    frequency = Frequency(unit, n)
    assert Frequency.parse(str(frequency)) == frequency


@pytest.mark.parametrize(
    "text", ["MS", "ME", "3BMS", "QE", "Q-15", "2YE", "BYE", "W-SUN", "2W-MON"]
)
def test_the_day_of_a_step_is_in_the_text(text):
    assert str(Frequency.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5m", "such as 15min or M; write min for minutes or M for months"),
        ("often", "expected a number and one of step, s, min, h, D, B, W, M, Q, Y, such as"),
        ("", "expected a number and one of"),
        ("0h", "expected 1 to 1000000 units, such as 15min, and B alone"),
        ("2B", "expected 1 to 1000000 units, such as 15min, and B alone"),
        ("W-15", "no W-15; expected the last day of weeks, W-SUN, or a day, M-15"),
        ("M-32", "no M-32; expected"),
        ("D-SUN", "no D-SUN; expected"),
        ("9" * 5000 + "h", "expected 1 to 1000000 units"),
    ],
)
def test_names_of_no_frequency(text, message):
    with pytest.raises(ValueError) as caught:
        Frequency.parse(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("times", "frequency"),
    [
        (every("2020-01-01T00:10", 600, 5), Frequency("min", 10)),
        (every("2020-01-01", 3600, 5), Frequency("h")),
        (every("2020-01-01", 86400, 9), Frequency("D")),
        (every("2020-01-05", 7 * 86400, 5), Frequency("W")),
        (every("2020-01-01", 90, 3), Frequency("s", 90)),
        (dates("2020-01-01", "2020-01-02", "2020-01-03", "2020-01-11"), Frequency("D")),
        (dates("2020-01-02", "2020-01-03", "2020-01-06", "2020-01-07"), Frequency("B")),
        (dates("2020-01-06", "2020-01-07", "2020-01-08"), Frequency("D")),  # no weekend between
        (dates("2020-01-31", "2020-02-29", "2020-03-31"), Frequency("M", anchor=LAST)),
        (dates("2020-01-15", "2020-02-15", "2020-05-15"), Frequency("M", anchor="15")),
        (dates("2021-01-30", "2021-02-28", "2021-03-30"), Frequency("M", anchor="30")),
        (dates("2021-04-30", "2021-05-31", "2021-06-30"), Frequency("M", anchor=LAST)),
        (dates("2021-01-29", "2021-02-26", "2021-04-30"), Frequency("M", anchor=LAST_WEEKDAY)),
        (dates("2021-01-29", "2021-02-26", "2021-03-26"), Frequency("W", 4)),
        (dates("2020-03-31", "2020-06-30", "2020-09-30"), Frequency("Q", anchor=LAST)),
        (dates("2019-12-31", "2020-12-31"), Frequency("Y", anchor=LAST)),
        (dates("2020-01-01", "2020-03-01", "2020-05-01"), Frequency("M", 2)),
        (dates("2000-01-01", "2002-01-01"), Frequency("Y", 2)),
        (dates("2020-01-30", "2020-02-29", "2020-03-30"), Frequency("D", 30)),
        (np.array([0, 10, 20, 40]), Frequency("step", 10)),
        (dates("2020-01-01"), None),
        (np.array([3]), None),
    ],
)
def test_inference(times, frequency):
    assert Frequency.infer(times) == frequency


def test_inference_ignores_the_distance_between_two_series():
    times = np.concatenate([every("2020-01-01", 3600, 3), every("1990-05-05", 3600, 2)])
    assert Frequency.infer(times, np.array([0, 0, 0, 1, 1])) == Frequency("h")
    assert Frequency.infer(times[2:4], np.array([0, 1])) is None


@pytest.mark.parametrize(
    ("frequency", "season"),
    [
        ("h", 24),
        ("15min", 96),
        ("10min", 144),
        ("7min", None),
        ("6h", 4),
        ("D", 7),
        ("2D", None),
        ("7D", None),
        ("B", 5),
        ("W", 52),
        ("M", 12),
        ("Q", 4),
        ("Y", 1),
        ("step", 1),
        ("s", 60),
    ],
)
def test_seasons(frequency, season):
    assert Frequency.parse(frequency).season == season


@pytest.mark.parametrize(
    ("frequency", "start", "expected"),
    [
        ("M", "2020-01-31", ["2020-02-01", "2020-03-01"]),
        ("ME", "2019-12-31", ["2020-01-31", "2020-02-29"]),
        ("ME", "2020-11-30", ["2020-12-31", "2021-01-31"]),
        ("M-30", "2021-01-30", ["2021-02-28", "2021-03-30"]),
        ("BME", "2021-04-30", ["2021-05-31", "2021-06-30"]),
        ("BME", "2021-06-30", ["2021-07-30", "2021-08-31"]),
        ("BMS", "2021-04-01", ["2021-05-03", "2021-06-01"]),
        ("QE", "2020-02-29", ["2020-05-31", "2020-08-31"]),
        ("YE", "2019-06-30", ["2020-06-30", "2021-06-30"]),
        ("YE", "2019-02-28", ["2020-02-29", "2021-02-28"]),
        ("Q", "2020-01-01", ["2020-04-01", "2020-07-01"]),
        ("Y", "2020-01-01", ["2021-01-01", "2022-01-01"]),
        ("B", "2020-01-02", ["2020-01-03", "2020-01-06"]),
        ("W", "2020-01-05", ["2020-01-12", "2020-01-19"]),
        ("90s", "2020-01-01", ["2020-01-01T00:01:30", "2020-01-01T00:03:00"]),
    ],
)
def test_times_after_the_start(frequency, start, expected):
    times = Frequency.parse(frequency).times(np.datetime64(start, "s"), 1, 2)
    assert times.tolist() == dates(*expected).tolist()
    assert times.dtype == "datetime64[s]"


def test_integers_count_steps():
    assert Frequency("step", 10).times(5, 2, 2).tolist() == [25, 35]
    assert Frequency("h").times(0, 2, 2).tolist() == [2, 3]
    assert Frequency("step", 10).index(5, 25) == 2
    assert Frequency("step", 10).index(5, 26) is None


STARTS = st.datetimes().map(lambda time: np.datetime64(time, "s"))


@given(
    frequency=st.sampled_from(
        ["s", "7min", "h", "D", "B", "W", "M", "Q", "Y", "5M", "ME", "BMS", "QE", "2M-30", "W-SUN"]
    ),
    start=st.integers(0, 20_000).map(lambda day: np.datetime64(day, "D")),
    step=st.integers(0, 2000),
)
def test_the_index_of_a_time_is_its_step(frequency, start, step):
    frequency = Frequency.parse(frequency)
    start = frequency.floor(np.array([start], "datetime64[s]"))[0]
    [time] = frequency.times(start, step, 1)
    assert frequency.index(start, time) == step
    assert frequency.floor(np.array([start, time]))[1] == time


def test_times_between_two_steps():
    start = np.datetime64("2020-01-03T00:00:00")  # a Friday
    assert Frequency("h").index(start, np.datetime64("2020-01-03T01:30")) is None
    assert Frequency("B").index(start, np.datetime64("2020-01-04")) is None
    assert Frequency("B").index(start, np.datetime64("2020-01-06T01:00")) is None
    assert Frequency("Q").index(start, np.datetime64("2020-05-01")) is None
    assert Frequency("M").index(start, np.datetime64("2020-05-31")) == 4


@pytest.mark.parametrize(
    ("frequency", "time", "expected"),
    [
        ("15min", "2020-01-01T00:44:59", "2020-01-01T00:30:00"),
        ("D", "2020-01-01T23:00", "2020-01-01"),
        ("B", "2020-01-05", "2020-01-03"),
        ("M", "2020-02-29", "2020-02-01"),
        ("Q", "2020-06-30", "2020-04-01"),
        ("Y", "2020-06-30", "2020-01-01"),
        ("W", "2020-01-05", "2020-01-05"),
        ("W-SUN", "2020-01-05", "2020-01-05"),
        ("W-SUN", "2020-01-06", "2020-01-12"),
        ("W-SUN", "2020-01-11T23:00", "2020-01-12"),
        ("W-MON", "2020-01-06", "2020-01-06"),
        ("ME", "2020-02-03", "2020-02-29"),
        ("M-15", "2020-02-03", "2020-02-15"),
        ("QE", "2020-02-03", "2020-03-31"),
        ("QS", "2020-03-31", "2020-01-01"),
        ("BYE", "2021-02-03", "2021-12-31"),
    ],
)
def test_rounding_down(frequency, time, expected):
    assert Frequency.parse(frequency).floor(dates(time)).tolist() == dates(expected).tolist()


def test_longer_steps_are_counted_from_the_first_time():
    times = dates("2020-01-05", "2020-01-11", "2020-01-12")
    assert Frequency("W").floor(times).tolist() == dates(*["2020-01-05"] * 2, "2020-01-12").tolist()
    assert Frequency("step", 10).floor(np.array([3, 14, 23])).tolist() == [3, 13, 23]


@pytest.mark.parametrize(
    ("times", "frequency"),
    [
        (dates("2020-01-01", "2020-01-31", "2020-03-02"), "M"),
        (dates("2020-01-01", "2020-01-09"), "W"),
        (dates("2020-01-01T00:00:00", "2020-01-01T00:58:00"), "h"),
        (np.array([1, 4, 9]), "4step"),
    ],
)
def test_the_nearest_usual_frequency(times, frequency):
    assert str(Frequency.near(times)) == frequency


@pytest.mark.parametrize(
    ("text", "times", "expected"),
    [
        ("M", dates("2020-01-31", "2020-02-29"), "ME"),
        ("M", dates("2020-01-31"), "ME"),
        ("M", dates("2020-01-15", "2020-03-15"), "M-15"),
        ("M", dates("2020-01-15", "2020-03-16"), "M"),
        ("MS", dates("2020-01-31", "2020-02-29"), "MS"),
        ("Q", dates("2020-02-29", "2020-05-31"), "QE"),
        ("D", dates("2020-01-31", "2020-02-29"), "D"),
        ("M", np.array([1, 2]), "M"),
    ],
)
def test_the_day_that_times_have(text, times, expected):
    assert str(Frequency.parse(text).anchored(times)) == expected


def test_steps_that_have_their_day_already_stay():
    times = dates("2020-02-29", "2020-05-31")
    assert Frequency.parse("QE").floor(times).tolist() == times.tolist()
    moved = dates("2020-03-31", "2020-06-30")
    assert Frequency.parse("QE").floor(dates("2020-02-29", "2020-05-30")).tolist() == moved.tolist()


def test_the_day_of_another():
    assert str(Frequency("M").dated_like(Frequency.parse("ME"))) == "ME"
    assert str(Frequency("M").dated_like(Frequency("D"))) == "M"
    assert Frequency.parse("ME").meaning == "ME (dated on the last day)"
    assert Frequency.parse("M-15").meaning == "M-15 (dated on day 15)"
    assert Frequency.parse("M").meaning == "M"

"""Dates that fit two orders: the more regular one is taken, and a tie is a warning."""

import numpy as np
import pytest

from headway.data.date_order import DateOrder, choose_order
from headway.data.frequency import Frequency
from headway.data.times import parse_times


def chosen(texts, codes=None, frequency=None):
    codes = np.zeros(len(texts), np.int64) if codes is None else np.array(codes)
    return choose_order(parse_times(texts), texts[0], codes, frequency)


MONTHS = [f"01/{month:02d}/{year}" for year in range(2010, 2020) for month in range(1, 13)]


def test_months_in_either_order():
    parsed, order = chosen(MONTHS)
    assert [str(time)[:10] for time in parsed.times[[0, 1, -1]]] == [
        *("2010-01-01", "2010-02-01", "2019-12-01"),
    ]
    assert (order.day_first, order.is_shown, order.is_guess) == (True, False, False)
    assert order.line == (
        "times such as 01/01/2010 are read as day, month, year: in the other order, 3,179 times "
        "would have no row"
    )
    swapped = [f"{text[3:5]}/01/{text[6:]}" for text in MONTHS]
    parsed, order = chosen(swapped)
    assert (str(parsed.times[1])[:10], order.day_first) == ("2010-02-01", False)


@pytest.mark.parametrize("frequency", ["M", "D"])
def test_a_given_frequency_decides_too(frequency):
    assert chosen(MONTHS, frequency=Frequency.parse(frequency))[1].day_first is (frequency == "M")


def test_hours_of_a_few_days():
    texts = [f"{day:02d}/05/2024 {hour:02d}:00" for day in range(1, 4) for hour in range(24)]
    parsed, order = chosen(texts)
    assert (str(parsed.times[-1]), order.day_first) == ("2024-05-03T23:00:00", True)


def test_series_are_regular_by_themselves():
    texts = ["01/01/2024", "02/01/2024", "03/01/2024"]
    _, order = chosen([*texts, *texts], [0, 0, 0, 1, 1, 1])
    assert order.is_guess  # three days, or the first day of three months
    texts = [f"{day:02d}/06/2024 {hour:02d}:00" for day in (1, 2) for hour in range(24)]
    assert chosen([*texts, *texts], [0] * 48 + [1] * 48)[1].day_first


def test_a_tie_is_read_with_the_month_first_and_warned_of():
    texts = [f"03/05/2024 {hour:02d}:00" for hour in range(24)]
    parsed, order = chosen(texts)
    assert str(parsed.times[0]) == "2024-03-05T00:00:00"
    assert order == DateOrder(
        False,
        is_shown=False,
        is_guess=True,
        line="times such as 03/05/2024 00:00 are read as month, day, year, and could be "
        "day, month, year; if they are, set day_first = true",
    )


def test_what_needs_no_choice():
    assert chosen(["13/05/2024", "14/05/2024"])[1] == DateOrder(True)
    assert chosen(["2024-05-13"])[1] is None
    assert chosen(["01/01/2024", "02/02/2024"])[1] is None

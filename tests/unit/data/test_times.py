"""Times of text: the forms, the decisions that are noted, and values that are no times."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.data.times import (
    ParsedTimes,
    TimeProblem,
    looks_dated,
    parse_ordered_parts,
    parse_parts,
    parse_times,
)


def read(*texts):
    return parse_times(texts)


def shown(parsed: ParsedTimes):
    return [str(time).replace("T", " ").removesuffix(":00") for time in parsed.times]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2016-07-01 00:00:00", "2016-07-01 00:00"),
        ("2016-07-01T13:05:00", "2016-07-01 13:05"),
        ("2016-07-01T13:05", "2016-07-01 13:05"),
        ("2016-07-01T13:05:00.000", "2016-07-01 13:05"),
        ("2016-07-01T13", "2016-07-01 13:00"),
        ("7/13/2016 1 PM", "2016-07-13 13:00"),
        ("2016-07-01", "2016-07-01 00:00"),
        ("2016/7/1 3:05", "2016-07-01 03:05"),
        (" 2016-07-01 ", "2016-07-01 00:00"),
        ("01.02.2020 00:10:00", "2020-02-01 00:10"),
        ("13/2/2014 13:00", "2014-02-13 13:00"),
        ("2/13/2014 1:00 PM", "2014-02-13 13:00"),
        ("2/13/2014 12:30 am", "2014-02-13 00:30"),
        ("20140101T13:00", "2014-01-01 13:00"),
        ("2014-03", "2014-03-01 00:00"),
        ("2014M03", "2014-03-01 00:00"),
        ("2014Q2", "2014-04-01 00:00"),
        ("2014-q4", "2014-10-01 00:00"),
        ("2014-01-01 24:00", "2014-01-02 00:00"),
    ],
)
def test_forms_that_say_what_they_are(text, expected):
    parsed = read(text)
    assert shown(parsed) == [expected]
    assert parsed.notes == ()
    assert parsed.times.dtype == "datetime64[s]"


@pytest.mark.parametrize(
    ("text", "expected", "note"),
    [
        ("2014", "2014-01-01 00:00", "times such as 2014 are read as years"),
        ("20140102", "2014-01-02 00:00", "times such as 20140102 are read as dates"),
        ("201402", "2014-02-01 00:00", "times such as 201402 are read as months"),
        (
            "1467331200",
            "2016-07-01 00:00",
            "times such as 1467331200 are read as seconds since 1970",
        ),
        (
            "1467331200000",
            "2016-07-01 00:00",
            "times such as 1467331200000 are read as milliseconds since 1970",
        ),
        ("2016-07-01T01:00+02:00", "2016-07-01 01:00", "the time zone +02:00 is left out"),
        ("2016-07-01T01:00:00Z", "2016-07-01 01:00", "the time zone Z is left out"),
    ],
)
def test_forms_that_are_noted(text, expected, note):
    parsed = read(text)
    assert shown(parsed) == [expected]
    assert parsed.notes == (note,)


def test_the_whole_column_tells_day_from_month():
    assert shown(read("1/2/2014", "13/2/2014")) == ["2014-02-01 00:00", "2014-02-13 00:00"]
    assert read("1/2/2014", "13/2/2014").notes == ()
    assert shown(read("1/2/2014", "1/13/2014"))[0] == "2014-01-02 00:00"


def test_both_orders_of_a_date_that_fits_both():
    parsed = read("1/2/2014 13:00", "1/3/2014 13:00")
    assert (shown(parsed)[0], parsed.day_first) == ("2014-01-02 13:00", None)
    assert str(parsed.other[0]) == "2014-02-01T13:00:00"
    assert read("1/1/2014", "2/2/2014").other is None  # both orders are equal


@pytest.mark.parametrize(
    ("texts", "day_first"),
    [
        (["1/2/2014", "13/2/2014"], True),
        (["1/2/2014", "2/13/2014"], False),
        (["1.2.2014"], True),
        (["2014-02-01"], None),
        (["20140201"], None),
    ],
)
def test_the_order_that_a_column_shows(texts, day_first):
    assert read(*texts).day_first is day_first


def test_a_given_order_is_kept_or_contradicted():
    assert shown(parse_times(["1/2/2014"], True)) == ["2014-02-01 00:00"]
    assert shown(parse_times(["1/2/2014"], False)) == ["2014-01-02 00:00"]
    assert parse_times(["1/2/2014"], True).other is None
    with pytest.raises(TimeProblem, match="'13/2/2014' has 13 as its month: dates are read as mo"):
        parse_times(["1/2/2014", "13/2/2014"], False)
    with pytest.raises(TimeProblem, match="'2/13/2014' has 13 as its month: dates are read as day"):
        parse_times(["2/13/2014"], True)


def test_parts_by_their_order():
    columns = [["2024", "2024"], ["01", "1"], ["5", "06"], ["0", "23"]]
    assert shown(parse_ordered_parts(columns)) == ["2024-01-05 00:00", "2024-01-06 23:00"]
    assert parse_ordered_parts([["5"], ["1"], ["2024"]]) is None
    assert parse_ordered_parts([["2024-01-05"], ["13:00"]]) is None
    assert parse_ordered_parts([["20240105"], ["13"]]) is None


@pytest.mark.parametrize(
    "texts", [["0", "1", "2"], ["7", "8"], ["20141301", "1"], ["1600", "12000"], ["-5", "-4.0"]]
)
def test_other_whole_numbers_count_steps(texts):
    parsed = parse_times(texts)
    assert parsed.times.tolist() == [int(float(text)) for text in texts]
    assert parsed.notes == ()


@pytest.mark.parametrize(
    ("texts", "index", "message"),
    [
        (
            ["2016-07-01", "2016-07-02", "1.7.2016"],
            2,
            "'1.7.2016' is no time in the form of the first, '2016-07-01'; write all times in one "
            "form",
        ),
        (["2016-02-30"], 0, "'2016-02-30' is no time: there is no such day or hour; fix the file"),
        (["2016-01-01 24:01"], 0, "there is no such day or hour"),
        (["2016-01-01", "2016-13-01"], 1, "'2016-13-01' is no time: there is no such day"),
        (["2016-01-01 00:60"], 0, "there is no such day or hour"),
        (["2016-01-01", ""], 1, "the time is empty; fill it in, or remove the row"),
        (["soon"], 0, "'soon' is no time; expected a whole number, or a form such as 2016-07-01"),
        (["0", "0.5"], 1, "'0.5' is no time; expected a whole number, or a form such as"),
        (["1", "NA"], 1, "'NA' is no time; expected a whole number, or a form such as"),
        (
            ["2016-10-30T02:00+02:00", "2016-10-30T02:00+01:00"],
            1,
            "'2016-10-30T02:00+01:00' has another time zone than '2016-10-30T02:00+02:00'; write "
            "all times in one, such as UTC",
        ),
        (
            ["13/1/2014", "1/13/2014"],
            1,
            "'13/1/2014' has the day first and '1/13/2014' the month; write all times in one form",
        ),
        (
            ["1/13/2014 1:00 PM", "1/13/2014 13:00"],
            1,
            "'1/13/2014 13:00' is no time with AM or PM, as others of the column are",
        ),
        (["1\n2"], 0, "'1\\n2' is no time; expected a form such as"),
        (["9" * 5000], 0, "is no time"),
    ],
)
def test_values_that_are_no_times(texts, index, message):
    with pytest.raises(TimeProblem) as caught:
        parse_times(texts)
    assert caught.value.index == index
    assert message in str(caught.value)


def test_positions_count_equal_texts_too():
    with pytest.raises(TimeProblem) as caught:
        read("2016-07-01", "2016-07-01", "x")
    assert caught.value.index == 2
    assert read("2016-07-01 00:00:00", "2016-07-01 00:00:00", "2016-07-01 00:00:00.5").fraction == 2
    assert read("1467331200000", "1467331200500").fraction == 1


def test_dates_in_several_columns():
    parts = {"year": ["2010", "2011"], "month": ["1", "12"], "day": ["2", "31"], "hour": ["3", "0"]}
    assert shown(parse_parts(parts)) == ["2010-01-02 03:00", "2011-12-31 00:00"]
    assert shown(parse_parts({"year": ["2010"], "month": ["5"]})) == ["2010-05-01 00:00"]
    with pytest.raises(TimeProblem, match="'2010 2 30' is no time: there is no such day"):
        parse_parts({"year": ["2010"], "month": ["2"], "day": ["30"]})
    with pytest.raises(TimeProblem, match="'May' is no month; expected a whole number"):
        parse_parts({"year": ["2010"], "month": ["May"]})


@pytest.mark.parametrize("text", ["2016-07-01", "1.7.2016", "2014-03", "2014Q1", "1/2/2014 13:00"])
def test_texts_that_look_like_dates(text):
    assert looks_dated(text)


@pytest.mark.parametrize("text", ["2014", "20140101", "7.5", "date", "", "nan", "2016.07"])
def test_texts_that_do_not(text):
    assert not looks_dated(text)


TIMES = st.lists(
    st.integers(-62135596800, 253402300799).map(lambda s: np.datetime64(s, "s")), min_size=1
)


@given(times=TIMES)
def test_times_as_numpy_writes_them_are_read_back(times):
    assert parse_times([str(time) for time in times]).times.tolist() == np.array(times).tolist()


def position_of_problem(texts):
    """The position of the value that is no time; None if all are times."""
    try:
        parsed = parse_times(texts)
    except TimeProblem as problem:
        return problem.index
    return None if len(parsed.times) == len(texts) else -1


@given(texts=st.lists(st.text(alphabet="0123456789-/.:T Q+ZapmM\n", max_size=20), min_size=1))
def test_any_text_is_a_time_or_a_problem_of_a_position(texts):
    assert position_of_problem(texts) in (None, *range(len(texts)))

"""The grid of equal steps: times in and out of order, doubled, off the grid, with gaps."""

import numpy as np
import pytest
from format_rows import message_of

from headway.data.formats import Note
from headway.errors import ConfigError, DataError

TARGET = ("target",)
NAN = np.nan
FOUND = "frequency {}, inferred from the times"


def wide(lines, header="date,a"):
    return header + "\n" + "".join(f"{line}\n" for line in lines)


@pytest.fixture
def one(rows):
    """Reads a wide file of one series."""

    def run(text, columns=TARGET, **settings):
        [row] = rows("w.csv", text, columns, **settings)
        return row

    return run


def same(values, expected):
    return np.array_equal(values, np.array(expected, float), equal_nan=True)


class TestGrid:
    def test_a_wide_file(self, one):
        row = one("date,a,b\n2020-01-01 00:00,1,2\n2020-01-01 01:00,3,4\n")
        [target] = row.values
        assert (target.name, target.columns, target.history) == ("", ("a", "b"), 0)
        assert same(target.values, [[1, 2], [3, 4]])
        assert (str(target.start), str(target.frequency)) == ("2020-01-01T00:00:00", "h")
        assert (row.where, row.notes) == ("w.csv:2", (Note(FOUND.format("h")),))

    def test_missing_times_are_steps_without_values(self, one):
        row = one(wide(["2020-01-01,1", "2020-01-02,2", "2020-01-05,5", "2020-01-06,6"]))
        assert same(row.values[0].values[:, 0], [1, 2, NAN, NAN, 5, 6])
        assert row.notes[1:] == (Note("times without a row, after", 2, ("w.csv:3",)),)

    def test_missing_values_are_counted_by_column(self, one):
        cells = ["", "NA", "NaN", "null", "None", "-", "?", " 7 "]
        lines = [f"2020-01-0{i},{cell},1" for i, cell in enumerate(cells, 1)]
        row = one(wide(lines, "date,a,b"))
        assert same(row.values[0].values[:, 0], [NAN] * 7 + [7])
        places = ("w.csv:2", "w.csv:3", "w.csv:4")
        assert row.notes[1:] == (Note("missing values in column 'a'", 7, places),)

    def test_times_out_of_order_are_sorted(self, one):
        row = one(wide(["2020-01-02,2", "2020-01-01,1", "2020-01-03,3"]))
        assert same(row.values[0].values[:, 0], [1, 2, 3])
        assert row.notes[0] == Note("rows earlier than the row before, sorted", 1, ("w.csv:3",))
        assert row.where == "w.csv:3"

    def test_month_ends_are_months(self, one):
        row = one(wide(["2020-01-31,1", "2020-02-29,2", "2020-04-30,4"]))
        [target] = row.values
        assert (str(target.frequency), str(target.start)[:10]) == ("ME", "2020-01-31")
        assert same(target.values[:, 0], [1, 2, NAN, 4])
        assert [str(day)[:10] for day in target.times[1:]] == [
            "2020-02-29",
            "2020-03-31",
            "2020-04-30",
        ]
        assert row.notes[0] == Note(FOUND.format("ME (dated on the last day)"))

    @pytest.mark.parametrize("frequency", [None, "M", "Q", "W"])
    def test_times_of_the_file_are_those_of_the_series(self, one, frequency):
        days = {
            None: ["2020-01-15", "2020-02-15", "2020-03-15"],
            "M": ["2020-10-31", "2020-11-30", "2020-12-31"],
            "Q": ["2020-02-29", "2020-05-31", "2020-08-31"],
            "W": ["2020-01-05", "2020-01-12", "2020-01-19"],  # Sundays
        }[frequency]
        [target] = one(wide([f"{day},1" for day in days]), frequency=frequency).values
        assert [str(day)[:10] for day in target.times] == days

    def test_weeks_that_end_on_sunday(self, one):
        lines = ["2020-01-05,1", "2020-01-06,2", "2020-01-12,4", "2020-01-13,5"]
        [target] = one(wide(lines), frequency="W-SUN").values
        assert same(target.values[:, 0], [1, 3, 5])
        assert str(target.times[-1])[:10] == "2020-01-19"
        [target] = one(wide(["2020-01-05,1", "2020-01-12,2", "2020-01-26,4"])).values
        assert str(target.times[2])[:10] == "2020-01-19"
        assert str(target.frequency) == "W"

    def test_weekdays(self, one):
        row = one(wide(["2020-01-02,1", "2020-01-03,2", "2020-01-06,3", "2020-01-08,5"]))
        assert str(row.values[0].frequency) == "B"
        assert same(row.values[0].values[:, 0], [1, 2, 3, NAN, 5])

    def test_integers(self, one):
        row = one("time,a\n10,1\n20,2\n40,4\n")
        [target] = row.values
        assert (target.start, str(target.frequency)) == (10, "10step")
        assert isinstance(target.start, int)
        assert same(target.values[:, 0], [1, 2, NAN, 4])

    def test_parts_of_the_time_under_other_names(self, one):
        lines = ["2024,1,31,5,1", "2024,1,31,6,2"]
        time = ["Jahr", "Monat", "Tag", "Stunde"]
        [target] = one(wide(lines, "Jahr,Monat,Tag,Stunde,a"), time=time).values
        assert [str(time)[:13] for time in target.times] == ["2024-01-31T05", "2024-01-31T06"]

    @pytest.mark.parametrize(("day_first", "start"), [(True, "2024-02-01"), (False, "2024-01-02")])
    def test_the_order_of_day_and_month_is_set(self, one, day_first, start):
        row = one(wide(["01/02/2024,1", "02/02/2024,2"]), day_first=day_first)
        assert str(row.values[0].start)[:10] == start
        assert row.notes[0].text.startswith("frequency")
        assert row.facts.columns == "time: date; target: a"
        assert row.facts.order.day_first is day_first

    def test_without_times_steps_are_numbered(self, one):
        row = one("a,b\n1,2\n3,4\n", frequency="h")
        [target] = row.values
        assert (target.start, str(target.frequency)) == (0, "h")
        assert same(target.values, [[1, 2], [3, 4]])
        assert row.notes == (Note("no column of times: steps are numbered from 0"),)

    def test_one_row_and_a_frequency(self, one):
        [target] = one(wide(["2020-01-01,1"]), frequency="D").values
        assert (len(target), str(target.frequency)) == (1, "D")


class TestFrequencyGiven:
    def test_times_are_rounded_down_and_averaged(self, one):
        lines = ["2020-01-01 00:05,1", "2020-01-01 00:50,3", "2020-01-01 01:10,5"]
        row = one(wide(lines), frequency="h")
        [target] = row.values
        assert (str(target.start), str(target.frequency)) == ("2020-01-01T00:00:00", "h")
        assert same(target.values[:, 0], [2, 5])
        assert row.notes == (Note("rows that share a step of h, averaged", 1, ("w.csv:3",)),)

    def test_missing_values_are_no_part_of_the_average(self, one):
        lines = ["2020-01-01 00:05,1", "2020-01-01 00:50,", "2020-01-02 01:10,"]
        [target] = one(wide(lines), frequency="D").values
        assert same(target.values[:, 0], [1, NAN])

    def test_categories_are_those_of_the_last_row(self, one):
        text = wide(["2020-01-01 00:05,1,x", "2020-01-01 00:50,3,y"], "date,a,kind")
        row = one(text, ("target", "past"), target="a", past="kind", frequency="D")
        assert row.values[1].values.tolist() == [["y"]]

    def test_parts_of_a_second(self, one):
        lines = ["2020-01-01 00:00:00.0,1", "2020-01-01 00:00:00.5,2", "2020-01-01 00:00:01.0,3"]
        text = message_of(DataError, one, wide(lines))
        assert text == (
            "w.csv:3: the time has a part of a second, and steps are whole seconds; set frequency, "
            'such as frequency = "s", to round times down'
        )
        [target] = one(wide(lines), frequency="s", repeated="mean").values
        assert same(target.values[:, 0], [1.5, 3])

    def test_what_does_not_fit(self, one):
        text = message_of(ConfigError, one, wide(["2020-01-01,1"]), frequency="often")
        assert text.startswith("frequency = 'often': expected a number and one of step, s, min")
        text = message_of(ConfigError, one, wide(["2020-01-01,1"]), frequency="2step")
        assert text == (
            "frequency = '2step' is for times that are numbers; w.csv:2 has a date: write a unit "
            'of time, such as "D"'
        )


class TestRepeated:
    LINES = ("2020-01-01,1", "2020-01-02,2", "2020-01-02,4", "2020-01-03,3")

    def test_an_error_by_default(self, one):
        assert message_of(DataError, one, wide(self.LINES)) == (
            "w.csv:4: the time 2020-01-02 is also that of w.csv:3, with other values; remove one, "
            'or set repeated to "first", "last" or "mean"; if a column names the series of a row, '
            "set id to it"
        )
        text = "unique_id,ds,y\na,1,1\na,1,2\n"
        assert message_of(DataError, one, text).endswith('"first", "last" or "mean"')

    def test_the_hour_of_the_clocks(self, one):
        lines = [f"2020-10-25 0{hour}:00,{i}" for i, hour in enumerate([0, 1, 2, 2, 3])]
        assert "(the hour that the clocks are set back?)" in message_of(DataError, one, wide(lines))

    @pytest.mark.parametrize(
        ("repeated", "value", "done"),
        [
            ("first", 2, "the first is kept"),
            ("last", 4, "the last is kept"),
            ("mean", 3, "averaged"),
        ],
    )
    def test_as_the_corpus_says(self, one, repeated, value, done):
        row = one(wide(self.LINES), repeated=repeated)
        assert same(row.values[0].values[:, 0], [1, value, 3])
        text = f"rows with a time that was there before, {done}"
        assert row.notes[0] == Note(text, 1, ("w.csv:4",))

    def test_three_rows_of_one_time(self, one):
        lines = ["2020-01-01,1", "2020-01-01,2", "2020-01-01,6", "2020-01-02,0"]
        for repeated, value in (("first", 1), ("last", 6), ("mean", 3)):
            [target] = one(wide(lines), repeated=repeated).values
            assert same(target.values[:, 0], [value, 0])

    def test_equal_rows_are_left_out(self, one):
        row = one(wide(["2020-01-01,1", "2020-01-01,1", "2020-01-02,2"]))
        assert same(row.values[0].values[:, 0], [1, 2])
        assert row.notes[0] == Note("rows equal to the row before, left out", 1, ("w.csv:3",))

    def test_only_columns_that_are_read_count(self, one):
        text = wide(["2020-01-01,1,x", "2020-01-01,1,y", "2020-01-02,2,z"], "date,a,b")
        assert same(one(text, target="a").values[0].values[:, 0], [1, 2])

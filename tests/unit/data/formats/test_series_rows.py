"""Rows on the grid of equal steps: what is missing, doubled, out of order or off the grid."""

import numpy as np
import pytest
from format_rows import message_of

from headway.data.config import Corpus
from headway.data.formats import Note
from headway.data.formats.read import read
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
        assert (str(target.frequency), str(target.start)[:10]) == ("M", "2020-01-01")
        assert same(target.values[:, 0], [1, 2, NAN, 4])

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


class TestMissing:
    LINES = ("2020-01-01,1", "2020-01-02,", "2020-01-03,3", "2020-01-05,5")

    def test_filled(self, one):
        row = one(wide(self.LINES), missing="fill")
        assert same(row.values[0].values[:, 0], [1, 2, 3, 4, 5])
        assert row.notes[1:] == (
            Note("missing values in column 'a', filled", 1, ("w.csv:3",)),
            Note("times without a row, filled, after", 1, ("w.csv:4",)),
        )

    def test_refused(self, one):
        assert message_of(DataError, one, wide(self.LINES), missing="error") == (
            'w.csv:3: no value in column \'a\'; fill it in, or set missing to "mask" or "fill"'
        )
        assert message_of(
            DataError, one, wide(self.LINES[2:] * 1), missing="error", frequency="D"
        ) == (
            'w.csv:2: no row for 2020-01-04 after this one; add it, or set missing to "mask" or '
            '"fill"'
        )


class TestRefused:
    def test_a_time_off_the_grid(self, one):
        lines = [f"2020-01-01 {hour:02}:00,1" for hour in (0, 1, 2)] + ["2020-01-01 03:10,1"]
        assert message_of(DataError, one, wide(lines)) == (
            "w.csv:5: 2020-01-01 03:10:00 is not a whole number of steps of h, the most common "
            "distance of times, after 2020-01-01; correct it, or set frequency, such as frequency "
            '= "h", to round times down'
        )

    def test_one_row(self, one):
        assert message_of(DataError, one, wide(["2020-01-01,1"])) == (
            "w.csv:2: one row does not show how far apart the times are; set frequency, such as "
            'frequency = "D"'
        )

    @pytest.mark.parametrize(
        ("cell", "message"),
        [
            ("inf", "'inf' in column 'a' is infinite; expected a finite number, or an empty cell"),
            ("-1e999", "'-1e999' in column 'a' is infinite"),
            (
                '"3,5"',
                "'3,5' in column 'a' is no number; write a point for the decimal comma (1.5)",
            ),
            ("much", "'much' in column 'a' is no number; correct it, or leave the cell empty if"),
            ("1_0", "'1_0' in column 'a' is no number"),
        ],
    )
    def test_cells_that_are_no_numbers(self, one, cell, message):
        text = message_of(
            DataError, one, wide(["2020-01-01,1", "2020-01-02,2", f"2020-01-03,{cell}"])
        )
        assert text.startswith(f"w.csv:4: {message}")

    def test_a_column_of_decimal_commas(self, one):
        text = message_of(DataError, one, "date;a\n2020-01-01;1,5\n2020-01-02;2,5\n")
        assert text.startswith("w.csv:2: '1,5' in column 'a' is no number; write a point")

    def test_a_time_that_is_none(self, one):
        text = message_of(DataError, one, wide(["2020-01-01,1", "x,2"]))
        assert text.startswith("w.csv:3: 'x' is no time in the form of the first, '2020-01-01'")

    def test_times_far_apart(self, one):
        lines = ["2020-01-01 00:00:00,1", "2020-01-01 00:00:01,1", "2920-01-01 00:00:00,1"]
        text = message_of(DataError, one, wide(lines))
        assert text.startswith("w.csv:4: 3 rows would be 28")
        assert text.endswith("steps of s; is this time wrong? Otherwise set a longer frequency")


class TestCovariates:
    TEXT = wide(
        ["2020-01-01,1,10,N,x", "2020-01-02,2,20,S,x", "2020-01-03,,30,?,", "2020-01-04,,40,W,x"],
        "date,a,heat,wind,kind",
    )

    def test_categories_make_a_series_of_text(self, one):
        columns = ("target", "past", "static")
        row = one(self.TEXT, columns, target="a", past=["heat", "wind"], static="kind")
        target, past, static = row.values
        assert same(target.values[:, 0], [1, 2, NAN, NAN])
        assert past.columns == ("heat", "wind")
        assert past.values.tolist() == [["10", "N"], ["20", "S"], ["30", None], ["40", "W"]]
        assert static.values.tolist() == [["x"]]

    def test_known_columns_go_on(self, one):
        columns = ("target", "past", "known")
        row = one(self.TEXT, columns, target="a", past="wind", known="heat")
        target, past, known = row.values
        assert (len(target), len(past), len(known)) == (2, 2, 4)
        assert same(known.values[:, 0], [10, 20, 30, 40])
        places = ("w.csv:4", "w.csv:5")
        text = "rows after the last target, read as the future of the known columns"
        assert row.notes[1:] == (Note(text, 2, places, is_expected=True),)
        assert not row.notes[1].is_warning

    def test_a_series_without_any_target_keeps_its_length(self, one):
        row = one(wide(["2020-01-01,,1", "2020-01-02,,2"], "date,a,b"), ("target", "known"),
                  target="a", known="b")  # fmt: skip
        assert [len(value) for value in row.values] == [2, 2]

    def test_a_fact_that_changes(self, one):
        text = message_of(
            DataError, one, self.TEXT, ("target", "static"), target="a", static=["heat"]
        )
        assert text == (
            "w.csv:3: '20' in column 'heat' where w.csv:2 of the same series has '10'; a static "
            "may not change in a series"
        )

    def test_facts_that_are_numbers(self, one):
        text = wide(["2020-01-01,1,5,", "2020-01-02,2,,"], "date,a,b,c")
        row = one(text, ("target", "static"), target="a", static=["b", "c"])
        assert same(row.values[1].values, [[5, NAN]])


class TestLong:
    TEXT = "unique_id,ds,y\nb,2020-01-01,1\na,2020-01-02,4\nb,2020-01-02,2\na,2020-01-01,3\n"

    def test_rows_of_a_series_need_not_be_together(self, rows):
        b, a = rows("l.csv", self.TEXT, TARGET)
        assert (b.values[0].name, a.values[0].name) == ("b", "a")
        assert same(b.values[0].values[:, 0], [1, 2])
        assert same(a.values[0].values[:, 0], [3, 4])
        assert (b.where, a.where) == ("l.csv:2", "l.csv:5")
        sorted_ = Note("rows earlier than the row before, sorted", 1, ("l.csv:5",))
        assert (b.notes, a.notes) == ((sorted_, Note(FOUND.format("D"))), ())

    def test_series_of_other_lengths_and_starts(self, rows):
        text = "item_id,date,target\nx,2020-01-01,1\nx,2020-01-02,2\ny,2021-05-05,7\n"
        x, y = rows("l.csv", text, TARGET)
        assert (len(x.values[0]), len(y.values[0])) == (2, 1)
        assert str(y.values[0].start)[:10] == "2021-05-05"

    def test_an_empty_name(self, rows):
        text = message_of(DataError, rows, "l.csv", self.TEXT + ",2020-01-01,1\n", TARGET)
        assert text == (
            "l.csv:6: column 'unique_id', which names the series, is empty; fill it in, or remove "
            "the row"
        )

    def test_equal_times_of_two_series_are_no_doubles(self, rows):
        text = "unique_id,ds,y\na,1,1\nb,1,2\na,2,3\nb,2,4\n"
        assert [row.values[0].values[:, 0].tolist() for row in rows("l.csv", text, TARGET)] == [
            [1, 3],
            [2, 4],
        ]

    def test_labels(self, rows):
        text = "id,t,v,label\n7,1,0.5,yes\n7,2,1.5,yes\n8,1,2.5,no\n8,2,3.5,\n"
        found = rows("l.csv", text, ("series", "label"), id="id", time="t")
        assert [row.values[1] for row in found] == ["yes", "no"]
        assert found[0].values[0].columns == ("v",)
        wrong = text.replace("3.5,", "3.5,yes")
        assert message_of(
            DataError, rows, "l.csv", wrong, ("series", "label"), id="id", time="t"
        ) == (
            "l.csv:5: 'yes' in column 'label' where l.csv:4 of the same series has 'no'; a label "
            "may not change in a series"
        )

    def test_a_series_without_a_label_is_blank(self, rows):
        text = "item_id,v,value\n7,1,\n7,2,\n"
        [row] = rows("l.csv", text, ("series", "value"))
        assert row.values[1] == ""
        assert row.values[0].columns == ("v",)


class TestHistory:
    @pytest.fixture
    def joined(self, tmp_path):
        def run(earlier, later, columns=TARGET, **settings):
            (tmp_path / "e.csv").write_text(earlier)
            (tmp_path / "l.csv").write_text(later)
            corpus = Corpus(file="l.csv", history="e.csv", **settings)
            return list(read(corpus, columns, tmp_path))

        return run

    def test_earlier_values_come_first(self, joined):
        [row] = joined("b,a,date\n9,1,2020-01-01\n9,2,2020-01-02\n", wide(["2020-01-04,4"]))
        [target] = row.values
        assert (target.history, row.where) == (3, "l.csv:2")
        assert same(target.values[:, 0], [1, 2, NAN, 4])
        assert row.notes[1:] == (Note("times without a row, after", 1, ("e.csv:3",)),)

    def test_of_each_series(self, joined):
        earlier = "unique_id,ds,y\na,1,1\na,2,2\nc,1,1\n"
        b, a = joined(earlier, "unique_id,ds,y\nb,5,5\na,3,3\n")
        assert [(row.values[0].name, row.values[0].history) for row in (b, a)] == [
            ("b", 0),
            ("a", 2),
        ]
        text = "series of the history that the later file does not have, left out"
        assert b.notes[1] == Note(text, 1, ("e.csv:4",))

    def test_without_times_it_follows_directly(self, joined):
        [row] = joined("a\n1\n2\n", "a\n3\n")
        assert same(row.values[0].values[:, 0], [1, 2, 3])
        assert row.values[0].history == 2

    def test_history_that_goes_on(self, joined):
        text = message_of(
            DataError, joined, wide(["2020-01-01,1", "2020-01-03,1"]), wide(["2020-01-02,1"])
        )
        assert text == (
            "e.csv:3: the history goes on after l.csv:2; it must end before the later file begins"
        )

    def test_history_of_the_same_time(self, joined):
        text = message_of(DataError, joined, wide(["2020-01-02,1"]), wide(["2020-01-02,2"]))
        assert text.startswith("l.csv:2: the time 2020-01-02 is also that of e.csv:2")

    def test_history_without_a_column(self, joined):
        text = message_of(DataError, joined, "date,b\n2020-01-01,1\n", wide(["2020-01-02,2"]))
        assert text == ("e.csv:1: no column 'a', which the later file has; the header has date, b")

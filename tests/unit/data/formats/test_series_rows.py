"""Rows on the grid of equal steps: what is missing, doubled, out of order or off the grid."""

import numpy as np
import pytest
from format_rows import message_of

from headway.data.config import Corpus
from headway.data.formats import Note
from headway.data.formats.read import read
from headway.errors import DataError

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
            ("much", "'much' in column 'a' is no number; correct it, or leave the cell empty if"),
            ("1_0", "'1_0' in column 'a' is no number"),
            ('"3,500"', "'3,500' in column 'a' may be 3500 or 3.500; write one of these"),
        ],
    )
    def test_cells_that_are_no_numbers(self, one, cell, message):
        text = message_of(
            DataError, one, wide(["2020-01-01,1", "2020-01-02,2", f"2020-01-03,{cell}"])
        )
        assert text.startswith(f"w.csv:4: {message}")

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


class TestDecimalCommas:
    @pytest.mark.parametrize(
        ("cells", "values"),
        [
            (["1,5", "2,25"], [1.5, 2.25]),
            (["1.234,5", "-1.234.567", "12", ""], [1234.5, -1234567, 12, NAN]),
            (["1 234,5", "1\u202f234", "1\u00a0234,75"], [1234.5, 1234, 1234.75]),
            (["1.234", "1,5"], [1234, 1.5]),
            (["1,234", "2,345"], [1.234, 2.345]),
            (["1,5", "1e3", "NA"], [1.5, 1000, NAN]),
        ],
    )
    def test_columns_of_a_file_with_semicolons(self, one, cells, values):
        lines = [f"0{day}.05.2020;{cell}" for day, cell in enumerate(cells, 1)]
        row = one(wide(lines, "Tag;a"))
        assert same(row.values[0].values[:, 0], values)
        assert Note("decimal commas in column 'a'") in row.notes

    def test_quoted_ones_between_commas(self, one):
        row = one(wide(['2020-01-01,"1,5"', "2020-01-02,2", '2020-01-03,"1.234,125"']))
        assert same(row.values[0].values[:, 0], [1.5, 2, 1234.125])
        assert Note("decimal commas in column 'a'") in row.notes

    def test_a_header_may_be_missing(self, one):
        [target] = one("01.05.2020;1,5\n02.05.2020;2,5\n").values
        assert same(target.values, [[1.5], [2.5]])

    def test_points_between_thousands_beside_decimal_commas(self, one):
        row = one(wide(["2020-01-01;1.234;1,5", "2020-01-02;2.345;2"], "date;a;b"))
        assert same(row.values[0].values, [[1234, 1.5], [2345, 2]])
        text = "points between thousands in column 'a', as others have decimal commas"
        assert Note(text) in row.notes

    def test_points_alone(self, one):
        row = one(wide(["2020-01-01;1.234;x", "2020-01-02;2.345;y"], "date;a;b"))
        assert same(row.values[0].values, [[1.234], [2.345]])
        assert Note("decimal points in column 'a'") in row.notes
        row = one(wide(["2020-01-01;0.234;1,5", "2020-01-02;2.345;2"], "date;a;b"))
        assert same(row.values[0].values, [[0.234, 1.5], [2.345, 2]])

    @pytest.mark.parametrize(
        ("cells", "message"),
        [
            (
                ["1,5", "1.5"],
                "w.csv:2: '1,5' in column 'a' has a decimal comma or groups of digits, and w.csv:3 "
                "has '1.5'; write all numbers of a column in one way",
            ),
            (["1,5", "2,5", "x"], "w.csv:4: 'x' in column 'a' is no number; correct it"),
            (["1,5", "2,5", "1,234.5"], "w.csv:4: '1,234.5' in column 'a' is no number"),
        ],
    )
    def test_contradictions(self, one, cells, message):
        lines = [f"2020-01-0{day};{cell}" for day, cell in enumerate(cells, 1)]
        assert message_of(DataError, one, wide(lines, "date;a")).startswith(message)

    def test_thousands_are_not_taken_for_decimals(self, one):
        lines = ["2020-01-01,900", '2020-01-02,"1,100"', '2020-01-03,"12,500"']
        assert message_of(DataError, one, wide(lines)) == (
            "w.csv:3: '1,100' in column 'a' may be 1100 or 1.100; write one of these"
        )
        tabs = [line.replace(",", "\t", 1).replace('"', "") for line in lines]
        assert "w.csv:3: '1,100'" in message_of(DataError, one, wide(tabs, "date\ta"))

    def test_beside_categories_and_as_labels(self, one):
        text = wide(["2020-01-01;1;1,5;red", "2020-01-02;2;2,5;blue"], "date;a;b;c")
        row = one(text, ("target", "past"), target="a", past=["b", "c"])
        assert row.values[1].values.tolist() == [["1.5", "red"], ["2.5", "blue"]]

    def test_a_history_decides_too(self, rows, tmp_path):
        (tmp_path / "h.csv").write_text("date;a\n2020-01-01;1,5\n")
        [row] = rows(
            "w.csv", "date;a\n2020-01-02;1.234\n2020-01-03;2.345\n", TARGET, history="h.csv"
        )
        assert same(row.values[0].values[:, 0], [1.5, 1234, 2345])

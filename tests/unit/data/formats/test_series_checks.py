"""Rows that are questioned: lone times, longer steps, periods not complete, values far away."""

import numpy as np
import pytest

from headway.data.formats import Note
from headway.data.formats.format import add_notes
from headway.data.formats.series_checks import far_values
from headway.errors import ConfigError, DataError

TARGET = ("target",)
DAY = np.datetime64("2024-01-01")


def table(lines, header="date,y"):
    return header + "\n" + "".join(f"{line}\n" for line in lines)


def days(n, start=DAY, step=1):
    return [str(start + step * i) for i in range(n)]


@pytest.fixture
def notes(rows):
    """The notes of all series of a table as text, warnings with a mark."""

    def run(text, **settings):
        found = rows("w.csv", text, TARGET, **settings)
        every = (note for row in found for note in row.notes)
        return [f"{'warning: ' * note.is_warning}{note}" for note in every]

    return run


class TestJumps:
    @pytest.mark.parametrize(
        ("row", "time", "message"),
        [
            (60, "2204-03-01", "180 years after the time before it, 2024-04-29"),
            (119, "2034-04-29", "10 years after the time before it, 2024-04-28"),
            (5, "1924-01-06", "100 years before the time after it, 2024-01-01"),
        ],
    )
    def test_a_wrong_year(self, notes, row, time, message):
        times = days(120)
        times[row] = time
        with pytest.raises(DataError) as error:
            notes(table(f"{time},1" for time in times))
        assert str(error.value) == (
            f"w.csv:{row + 2}: {time} is {message}; correct it, or remove the row"
        )

    def test_a_wrong_year_among_several_series(self, notes):
        lines = [f"{name},{day},1" for name in "ab" for day in days(50)]
        lines[70] = "b,2424-01-21,1"
        with pytest.raises(DataError, match=r"w.csv:72: 2424-01-21 is 400 years after"):
            notes(table(lines, "unique_id,ds,y"))

    def test_a_machine_that_was_off_for_a_year(self, notes):
        times = days(60) + days(60, DAY + 460)
        found = notes(table(f"{time},1" for time in times))
        assert found[0] == (
            "warning: no row from 2024-02-29 to 2025-04-05, which is longer than all other times "
            "together (w.csv:62)"
        )
        assert "warning: 400 times without a row, after (w.csv:61, ...)" in found

    def test_sparse_series_and_few_rows_are_not_questioned(self, notes):
        lines = [f"a,{day},1" for day in days(300)]
        lines += [f"b,{day},1" for day in ("2024-01-01", "2024-01-02", "2024-10-01")]
        found = notes(table(lines, "unique_id,ds,y"))
        assert not any("longer than all" in note for note in found)
        notes(table(["2024-01-01,1", "2024-01-02,1", "2034-01-02,1"]))

    def test_numbers_of_steps(self, notes):
        lines = [f"{i},1" for i in [*range(30), 10_000]]
        with pytest.raises(
            DataError, match=r"w.csv:32: 10000 is 9,971 after the time before it, 2"
        ):
            notes(table(lines, "time,y"))


class TestLongerSteps:
    @pytest.mark.parametrize(
        ("other", "step"),
        [
            (days(40, step=7), "W"),
            (["2024-01-01", "2024-02-01", "2024-03-01", "2024-04-01"], "M"),
            (["2024-01-31", "2024-02-29", "2024-03-31"], "ME"),
        ],
    )
    def test_are_refused(self, notes, other, step):
        lines = [f"a,{day},1" for day in days(300)] + [f"b,{day},1" for day in other]
        with pytest.raises(DataError) as error:
            notes(table(lines, "unique_id,ds,y"))
        assert str(error.value) == (
            f"w.csv:302: series 'b' has steps of {step}, the most common step is D; train a model "
            f'for each step, set frequency to the longest, such as frequency = "{step}", or, if '
            'they are gaps, frequency = "D"'
        )
        assert notes(table(lines, "unique_id,ds,y"), frequency="D")

    def test_more_of_them_are_counted(self, notes):
        weeks = days(20, step=7)
        lines = [f"a,{day},1" for day in days(300)]
        lines += [f"{name},{day},1" for name in "bcd" for day in weeks]
        with pytest.raises(DataError, match=r"common step is D \(2 other series too\)"):
            notes(table(lines, "unique_id,ds,y"))

    @pytest.mark.parametrize(
        "other",
        [
            days(5, step=7),  # too few to be a step
            [str(DAY + i) for i in (0, 4, 9, 15, 30, 32, 50, 51)],
            [str(DAY + i) for i in (0, 14, 28, 70, 140, 210, 252)],  # weeks, with many gaps
        ],
    )
    def test_gaps_of_sparse_series_are_not(self, notes, other):
        lines = [f"a,{day},1" for day in days(300)] + [f"b,{day},1" for day in other]
        assert notes(table(lines, "unique_id,ds,y"))


class TestJoinedRows:
    WEEKS = table(f"{day},{i}" for i, day in enumerate(days(29)))

    def test_a_last_week_that_is_not_complete(self, notes):
        assert notes(self.WEEKS, frequency="W")[1] == (
            "warning: the last step of W has 1 row, fewer than those between (w.csv:30)"
        )
        whole = table(f"{day},1" for day in days(28))
        assert not any("fewer than" in note for note in notes(whole, frequency="W"))

    def test_of_several_series(self, notes):
        lines = [f"{name},{day},1" for name in "ab" for day in days(86, DAY + 15)]
        found = notes(table(lines, "unique_id,ds,y"), frequency="M")
        expected = "warning: 2 series whose {} step of M has fewer rows than those between ({})"
        assert found[1:3] == [
            expected.format("first", "w.csv:2, w.csv:88"),
            expected.format("last", "w.csv:78, w.csv:164"),
        ]

    def test_sums(self, rows):
        columns = ("target", "known")
        text = table((f"{day},{i},{i}" for i, day in enumerate(days(14))), "date,y,price")
        settings = {"target": "y", "known": "price", "frequency": "W"}
        [row] = rows("w.csv", text, columns, **settings, aggregate="sum")
        assert [values.values[:, 0].tolist() for values in row.values] == [[21, 70], [3, 10]]
        assert str(row.notes[0]).startswith("12 rows that share a step of W, added up (w.csv:3, ")
        [row] = rows("w.csv", text, columns, **settings, aggregate="mean")
        assert row.values[0].values[:, 0].tolist() == [3, 10]

    def test_a_sum_without_values_is_missing(self, rows):
        lines = [f"{day},{'' if i < 7 or i == 8 else 1}" for i, day in enumerate(days(14))]
        [row] = rows("w.csv", table(lines), TARGET, frequency="W", aggregate="sum")
        assert np.array_equal(row.values[0].values[:, 0], [np.nan, 6], equal_nan=True)

    def test_sums_of_nothing_are_refused(self, notes):
        with pytest.raises(ConfigError, match="set frequency to a longer step"):
            notes(self.WEEKS, aggregate="sum")
        with pytest.raises(ConfigError, match='set repeated to "first" or "last", or leave one o'):
            notes(self.WEEKS, aggregate="sum", frequency="W", repeated="mean")


class TestFarValues:
    USUAL = np.sin(np.arange(200.0)) + 2

    @pytest.mark.parametrize("value", [1e29, -1e9, -9999, 99999, -999])
    def test_are_named(self, notes, value):
        values = self.USUAL.copy()
        values[17] = value
        [note] = [n for n in notes(table(map("{},{}".format, days(200), values))) if "far" in n]
        is_code = value in (-9999, 99999, -999)
        question = "is it a code for a missing value? Then leave the cells empty"
        assert note == (
            f"warning: 1 value {value:g} in column 'y', far from the others; "
            f"{question if is_code else 'is it right?'} (w.csv:19)"
        )

    @pytest.mark.parametrize("value", [50, 9999.5, 1e5, 99, np.nan])
    def test_others_are_not(self, value):
        assert not len(far_values(np.append(self.USUAL, value)))

    def test_a_code_near_other_values_is_a_value(self):
        many = np.append(np.abs(self.USUAL) * 0.01, [900.0, 950.0, 999.0])
        assert not len(far_values(many))

    def test_more_than_half_of_the_values_are_equal(self):
        sales = np.where(np.arange(200) % 5, 0.0, self.USUAL)
        assert not len(far_values(sales))
        assert far_values(np.append(sales, 1e20)).tolist() == [200]
        assert not len(far_values(np.append(np.zeros(200), 7.0)))


class TestNotes:
    @pytest.mark.parametrize(
        ("text", "one"),
        [
            ("missing values in column 'a'", "1 missing value in column 'a'"),
            ("rows that share a step of W, averaged", "1 row that shares a step of W, averaged"),
            ("times without a row, after", "1 time without a row, after"),
            ("values 5 in column 'a'", "1 value 5 in column 'a'"),
            ("series of the history that", "1 series of the history that"),
        ],
    )
    def test_one_is_singular(self, text, one):
        assert str(Note(text, 1)) == one
        assert str(Note(text, 2)) == f"2 {text}"

    def test_facts_are_not_counted(self):
        assert str(Note("no row", 0, ("a:1",))) == "no row (a:1)"

    def test_what_is_a_warning(self):
        assert Note("rows", 1).is_warning
        assert not Note("rows", 1, is_expected=True).is_warning
        assert not Note("frequency D").is_warning
        assert Note("no row", is_doubtful=True).is_warning

    def test_added_notes_keep_what_they_are(self):
        total: dict[str, Note] = {}
        add_notes(total, [Note("a", 1, is_expected=True), Note("b", is_doubtful=True)])
        add_notes(total, [Note("a", 2, is_expected=True), Note("b", is_doubtful=True)])
        assert total["a"] == Note("a", 3, is_expected=True)
        assert total["b"] == Note("b", is_doubtful=True)

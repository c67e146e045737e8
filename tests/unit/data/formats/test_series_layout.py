"""Which columns are time, ids, values and covariates: names by default, and what is refused."""

import pytest
from format_rows import message_of

from headway.data.formats import Note
from headway.data.formats.format import SeriesOptions
from headway.data.formats.series_layout import (
    SeriesLayout,
    find_layout,
    is_dated,
    is_long_table,
    named_like,
)
from headway.data.formats.series_table import read_table
from headway.errors import ConfigError, DataError


@pytest.fixture
def layout(tmp_path):
    """The names of the columns of each use in a table."""

    def run(text, columns=None, is_long=False, **options):
        (tmp_path / "t.csv").write_text(text)
        table = read_table(tmp_path / "t.csv", "t.csv")
        found = find_layout(table, columns or {"target": None}, SeriesOptions(**options), is_long)
        names = {role: [table.header[i] for i in cells] for role, cells in found.roles.items()}
        identifier = None if found.id is None else table.header[found.id]
        return identifier, [table.header[i] for i in found.time], names, found.notes

    return run


@pytest.mark.parametrize(
    ("header", "cells", "time"),
    [
        ("ds,a", "1,2", ["ds"]),
        ("a,Date", "1,2", ["Date"]),
        ("a,TIMESTAMP", "1,2", ["TIMESTAMP"]),
        ("No,year,month,day,hour,a", "1,2010,1,1,0,5", ["year", "month", "day", "hour"]),
        ("Month,a", "1949-01,112", ["Month"]),
        ("a,when", "1,1.7.2016", ["when"]),
        ("a,b", "1,2", []),
        ("year,a", "1990,2", ["year"]),
        ("year,day,a", "1990,5,2", ["year"]),
        ("Date,Time,a", "16/12/2006,17:24:00,1", ["Date", "Time"]),
        ("date,time,a", "2006-12-16,5,1", ["date"]),
    ],
)
def test_the_time(layout, header, cells, time):
    assert layout(f"{header}\n{cells}\n")[1] == time


def test_the_time_that_is_given(layout):
    text = "a,b,c\n1,2,3\n"
    assert layout(text, time="b")[1:3] == (["b"], {"target": ["a", "c"]})
    assert layout(text, time=-1)[1] == ["c"]
    assert layout(text, time=["c", "a"])[1:3] == (["c", "a"], {"target": ["b"]})


def test_targets_are_all_numbers_that_are_left(layout):
    text = "date,a,b,c,d\n2020-01-01,1,x,3,4\n"
    columns = {"target": None, "past": ["c"]}
    _, _, names, notes = layout(text, columns)
    assert names == {"target": ["a", "d"], "past": ["c"]}
    assert notes == [Note("column 'b' is text and is not read")]
    assert layout(text, {"target": 2})[2] == {"target": ["a"]}
    assert layout(text, {"target": ["d", "a"]})[2] == {"target": ["d", "a"]}


def test_long_tables_have_y_or_target(layout):
    text = "unique_id,ds,y,b\n1,1,1,1\n"
    assert layout(text, is_long=True)[::2] == ("unique_id", {"target": ["y"]})
    text = "shop,ds,Target,b\n1,1,1,1\n"
    assert layout(text, is_long=True, id="shop")[::2] == ("shop", {"target": ["Target"]})
    assert layout("item_id,ds,b\n1,1,1\n", is_long=True)[2] == {"target": ["b"]}


def test_values_of_labelled_series(layout):
    text = "item_id,time,x,value,label\n1,1,1,1,1\n"
    assert layout(text, {"series": None, "label": None}, True)[2] == {
        "series": ["x", "value"],
        "label": ["label"],
    }
    assert layout(text, {"series": None, "value": None}, True)[2] == {
        "series": ["x"],
        "value": ["value"],
    }
    assert layout(text, {"series": None}, True, unread=("value",))[2] == {"series": ["x"]}


@pytest.mark.parametrize(
    ("error", "text", "columns", "message"),
    [
        (DataError, "a,b\n1,2\n", {"target": "c"}, "t.csv:1: no column 'c'; the header has a, b;"),
        (DataError, "a,a\n1,2\n", {"target": "a"}, "t.csv:1: there are 2 columns 'a'"),
        (DataError, "a,b\n1,2\n", {"target": 3}, "t.csv:1: no column 3 for target; there are 2"),
        (DataError, "a\nx\n", {"target": None}, "t.csv:1: no column of numbers for target; the"),
        (
            ConfigError,
            "a,b\n1,2\n",
            {"target": "a", "past": ["b", "a"]},
            "t.csv:1: column 'a' is both target and past; leave it out of one",
        ),
        (ConfigError, "a\n1\n", {"target": []}, "t.csv:1: target is an empty list; name a column"),
        (ConfigError, "a\n1\n", {"target": None, "past": None}, "t.csv:1: past needs the names of"),
    ],
)
def test_what_is_refused(layout, error, text, columns, message):
    assert message_of(error, layout, text, columns).startswith(message)


def test_a_column_that_names_the_series(layout):
    assert message_of(ConfigError, layout, "a,b\n1,2\n", is_long=True) == (
        't.csv:1: which column names the series? The header has a, b; say it, such as id = "a"'
    )
    options = SeriesOptions()
    assert is_long_table(["Unique_ID", "b"], options, ("target",), "t.csv")
    assert is_long_table(["a", "b"], SeriesOptions(id="a"), ("target",), "t.csv")
    assert not is_long_table(["a", "b"], options, ("target",), "t.csv")
    text = message_of(ConfigError, is_long_table, ["a", "b"], options, ("series",), "t.csv")
    assert text.startswith("t.csv: which column names the series? The header has a, b; say it")


def test_names_in_any_case():
    assert named_like(["a", "Date", "DS"], ("ds", "date")) == 2
    assert named_like(["a"], ("ds",)) is None


def test_columns_of_dates(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n2020-01-01,5\n")
    table = read_table(tmp_path / "t.csv", "t.csv")
    assert [is_dated(table, column) for column in (0, 1)] == [True, False]


def test_columns_of_dates_are_not_text(layout):
    text = "date,y,sent,note\n2024-01-01,1,2024-01-02,x\n"
    assert layout(text)[3] == [
        Note("column 'sent' has dates and is not read"),
        Note("column 'note' is text and is not read"),
    ]


def test_columns_without_values_are_no_targets(layout):
    _, _, roles, notes = layout("date,y,z\n2024-01-01,1,\n2024-01-02,,NA\n")
    assert roles == {"target": ["y"]}
    assert notes == [Note("column 'z' has no values and is not read", is_doubtful=True)]
    assert layout("date,y\n2024-01-01,\n")[2:] == ({"target": ["y"]}, [])


@pytest.mark.parametrize(
    "text", ["date,y,y\n2024-01-01,1,2\n", "y,date,y\n1,2024-01-01,2\n", "date,date,y\n1,2,3\n"]
)
def test_names_that_occur_twice(layout, text):
    with pytest.raises(
        DataError, match=r"t.csv:1: there are 2 columns '(y|date)'; give each a nam"
    ):
        layout(text)
    assert layout("date,y,no,no\n2024-01-01,1,a,b\n")[2] == {"target": ["y"]}


def test_the_use_of_each_column_in_words(tmp_path):
    header = ["shop", "day", *(f"v{i}" for i in range(10)), "note"]
    found = SeriesLayout(0, (1,), {"target": tuple(range(2, 12))})
    assert found.described(header) == (
        "time: day; id: shop; target: v0, v1, v2, v3, v4, v5, v6, v7, ... (10 in all); "
        "not read: note"
    )

"""Tables in memory: separators, headers, numbers and places."""

import numpy as np
import pytest
from format_rows import message_of
from hypothesis import given
from hypothesis import strategies as st

from headway.data.formats.series_table import (
    SeriesTable,
    as_texts,
    has_names,
    parse_numbers,
    read_table,
    separator_of,
    wrong_number,
)
from headway.errors import DataError


@pytest.fixture
def table(tmp_path):
    def run(text):
        (tmp_path / "t.csv").write_text(text)
        return read_table(tmp_path / "t.csv", "t.csv")

    return run


@pytest.mark.parametrize(
    ("text", "header", "columns"),
    [
        ("a,b\n1,2\n3,4\n", ["a", "b"], [["1", "3"], ["2", "4"]]),
        ("a;b\n1;2,5\n", ["a", "b"], [["1"], ["2,5"]]),
        ("a\tb\n1\t2\n", ["a", "b"], [["1"], ["2"]]),
        ('"a, x",b\n1,"2"\n', ["a, x", "b"], [["1"], ["2"]]),
        ("1,2\n3,4\n", ["1", "2"], [["1", "3"], ["2", "4"]]),
        ("2020-01-01,2\n2020-01-02,4\n", ["1", "2"], [["2020-01-01", "2020-01-02"], ["2", "4"]]),
        ("\ufeff a , b \n1,2\n\n,\n3,4\n\n", ["a", "b"], [["1", "3"], ["2", "4"]]),
    ],
)
def test_tables_of_text(table, text, header, columns):
    found = table(text)
    assert (found.header, found.columns) == (header, columns)


def test_places(table):
    found = table('a,b\n1,"x\ny"\n\n3,4\n')
    assert [found.place(row) for row in range(len(found))] == ["t.csv:2", "t.csv:5"]
    assert found.where == "t.csv:1"
    joined = found.after(table("b,a\n7,8\n"), [0, 1])
    assert [list(column) for column in joined.columns] == [["8", "1", "3"], ["7", "x\ny", "4"]]
    assert [joined.place(row) for row in range(3)] == ["t.csv:2", "t.csv:2", "t.csv:5"]
    with pytest.raises(IndexError):
        joined.place(3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t.csv is empty; expected a header line and rows of values"),
        ("\n\n", "t.csv is empty; expected a header line and rows of values"),
        ("a,b\n", "t.csv: there are no rows below the header; is the file complete?"),
        ("a,b\n1,2\n3\n", "t.csv:3: 1 field where 2 were expected (as in the lines before);"),
        ('a,b\n"1,2\n', "t.csv:2: not valid CSV (unexpected end of data)"),
    ],
)
def test_texts_that_are_no_tables(table, text, message):
    assert message_of(DataError, table, text).startswith(message)


def test_separators():
    assert [separator_of(line) for line in ("a,b;c,d", "a\tb", "a;b;c,d", "a")] == [*",\t;", ","]
    assert not has_names(["1", "2020-01-01", "NA"])
    assert has_names(["1", "b"])


def test_numbers():
    numbers, is_text = parse_numbers(["1", " 2.5 ", "NA", "x", "1_0", "inf", "?", "1e3"])
    assert np.array_equal(
        numbers, [1, 2.5, np.nan, np.nan, np.nan, np.inf, np.nan, 1e3], equal_nan=True
    )
    assert is_text.tolist() == [False, False, False, True, True, False, False, False]


@given(numbers=st.lists(st.floats(allow_nan=False)))
def test_numbers_as_python_writes_them(numbers):
    found, is_text = parse_numbers([repr(number) for number in numbers])
    assert found.tolist() == numbers
    assert not is_text.any()


@pytest.mark.parametrize(
    ("cells", "is_numeric"),
    [
        (["1", "2", "x"], True),
        (["1", "x", "y"], False),
        (["1", "x"], True),
        (["", ""], True),
        (["", "x"], False),
        (np.array([1.0, np.nan]), True),
        (np.array(["2020-01-01"], "datetime64[s]"), False),
    ],
)
def test_columns_of_numbers(cells, is_numeric):
    one = SeriesTable(["a"], [cells], [("t.csv:", np.arange(2, 2 + len(cells)))])
    assert one.is_numeric(0) is is_numeric


def test_cells_as_text():
    assert as_texts(np.array([1.0, 2.5, np.nan])) == ["1", "2.5", ""]
    assert as_texts(np.array(["2020-01-01", "NaT"], "datetime64[D]")) == ["2020-01-01", ""]
    assert as_texts(["a"]) == ["a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1.234,5", "is no number; write a point for the decimal comma (1.5)"),
        ("-3,5", "is no number; write a point for the decimal comma (1.5)"),
        ("x", "is no number; correct it, or leave the cell empty if the value is missing"),
        ("inf", "is infinite; expected a finite number, or an empty cell if it is missing"),
    ],
)
def test_advice_about_wrong_numbers(text, message):
    assert wrong_number(text) == message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "a,b\n1,2\n".encode("utf-16-le"),
            "t.csv is UTF-16LE, not UTF-8; convert it: iconv -f UTF-16L",
        ),
        (
            "a,b\n1,2\n".encode("utf-16-be"),
            "t.csv is UTF-16BE, not UTF-8; convert it: iconv -f UTF-16B",
        ),
        (b"a,b\r1,2\r", r"t.csv:1: lines end with CR alone; convert the file: tr '\r' '\n' < FILE"),
    ],
)
def test_tables_in_other_encodings(tmp_path, content, message):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(DataError) as error:
        read_table(tmp_path / "t.csv", "t.csv")
    assert str(error.value).startswith(message)

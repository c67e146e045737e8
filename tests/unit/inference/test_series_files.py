"""Series of files, texts and lists, as a trained forecaster takes them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from forecast_runs import NAN, START, series

from headway.data.codecs.series import SeriesCodec
from headway.data.config import Corpus, DataConfig
from headway.data.frequency import Frequency
from headway.data.times import time_texts
from headway.errors import ConfigError, DataError
from headway.inference.series_files import (
    as_csv,
    corpora_of,
    last_window,
    list_series,
    read_series,
    text_series,
)

ROW = {
    "target": series([[1.0, NAN], [3.0, 4.0], [5.0, 6.5]], ["a", "b"]),
    "known": series(np.array([["x"], [None], ["y, z"], ["x"]], object), ["c"]),
    "static": series(np.array([["north"]], object), ["region"]),
}
CODECS = {name: SeriesCodec.fit([value]) for name, value in ROW.items()}
DATA = DataConfig(train=Corpus(file="train.csv", time="when"))


def same(one, other):
    assert one.columns == other.columns
    assert (one.start, one.frequency) == (other.start, other.frequency)
    np.testing.assert_array_equal(one.values, other.values)


def test_a_table_gives_back_what_it_was_made_of():
    text = as_csv(ROW)
    assert text.splitlines()[0] == "date,a,b,c,region"
    assert text.splitlines()[3] == '2024-01-01 02:00:00,5,6.5,"y, z",north'
    found = text_series(text, "csv", DATA, CODECS, 1000)
    [row] = found.rows
    assert found.places == ["csv:2"]
    assert found.warnings == [
        "1 missing value in column 'b' (csv:2)",
        "1 missing value in column 'c' (csv:3)",
    ]
    for name, value in ROW.items():
        same(row[name], value)


def test_a_table_has_all_digits():
    values = np.array([[1e12 + 0.5], [97.24], [1e-7], [3.0]])
    text = as_csv({"target": series(values, ["a"])})
    cells = [line.split(",")[1] for line in text.splitlines()[1:]]
    assert cells == ["1000000000000.5", "97.24", "0.0000001", "3"]


def test_other_columns_are_left_out_and_missing_ones_are_named():
    text = "date,z,b,a\n2024-01-01,1,2,3\n2024-01-02,1,2,3\n"
    codecs = {"target": CODECS["target"]}
    [row] = text_series(text, "csv", DATA, codecs, 1000).rows
    assert row["target"].columns == ("a", "b")
    assert row["target"].values.tolist() == [[3.0, 2.0]] * 2
    with pytest.raises(DataError, match="empty"):
        text_series("", "csv", DATA, codecs, 1000)


def test_a_grid_of_too_many_steps_is_refused():
    text = "date,a,b\n2024-01-01 00:00:00,1,1\n2024-01-01 00:00:01,1,1\n2024-01-02 00:00:00,1,1\n"
    with pytest.raises(DataError, match="3 rows would be 86401 steps of s"):
        text_series(text, "csv", DATA, {"target": CODECS["target"]}, 1000)


def test_lists_are_series():
    columns = {
        "target": {"a": [1, None, 3], "b": [4.0, 5.0]},
        "known": {"c": ["x", None, "y, z", "x"]},
    }
    times = ["2024-01-01 00:00", "2024-01-01 01:00", "2024-01-01 02:00", "2024-01-01 03:00"]
    row, notes = list_series("shop", "series[0]", times, columns, None, 1000)
    assert [note.text for note in notes if note.is_warning] == [
        "missing values in column 'a'",
        "missing values in column 'b'",
        "missing values in column 'c'",
    ]
    assert row["target"].name == "shop"
    np.testing.assert_array_equal(row["target"].values, [[1, 4], [NAN, 5], [3, NAN]])
    same(row["known"], ROW["known"])
    numbered, _ = list_series("", "series[0]", None, {"target": {"a": [1.0, 2.0]}}, None, 1000)
    assert (numbered["target"].start, str(numbered["target"].frequency)) == (0, "step")
    whole, _ = list_series("", "s", [5, 7, 9], {"target": {"a": [1.0, 2.0, 3.0]}}, None, 1000)
    assert (whole["target"].start, whole["target"].frequency) == (5, Frequency("step", 2))


@pytest.mark.parametrize(
    ("times", "values", "message"),
    [
        (["2024-01-01"], [1.0, 2.0], r"series\[3\] has 1 time and 2 values"),
        (None, [], r"series\[3\] has no values"),
        (["2024-01-01", "soon"], [1.0, 2.0], r"series\[3\]: value 2: 'soon' is no time"),
        (
            ["2024-01-01"] * 2,
            [1.0, 2.0],
            r"the time 2024-01-01 is also that of series\[3\]: value 1, with other values; remove "
            "one$",
        ),
    ],
)
def test_lists_that_are_no_series(times, values, message):
    with pytest.raises(DataError, match=message):
        list_series("", "series[3]", times, {"target": {"a": values}}, None, 1000)


@pytest.mark.parametrize(
    ("times", "after"),
    [
        (["01.02.2024", "02.02.2024", "04.02.2024"], ["2024-02-05", "2024-02-06"]),
        (["01/05/2024", "02/05/2024", "04/05/2024"], ["2024-05-05", "2024-05-06"]),
        (["2024-01-31", "2024-02-29", "2024-03-31"], ["2024-04-30", "2024-05-31"]),
        ([3, 5, 7], ["9", "11"]),
    ],
)
def test_lists_that_are_known_in_the_future_go_on_after_the_times(times, after):
    columns = {"target": {"a": [1.0, 2.0, 3.0]}, "known": {"c": [1, 0, 1, 1, 0]}}
    row, _ = list_series("", "series[0]", times, columns, None, 1000, True)
    assert row["target"].values[:, 0].tolist()[-1] == 3.0
    assert row["known"].values[-3:, 0].tolist() == [1, 1, 0]
    assert time_texts(row["known"].times)[-2:] == after
    assert len(row["known"]) == len(row["target"]) + 2
    with pytest.raises(
        DataError, match=r"has 2 times and 5 values; give a time for each value, or"
    ):
        list_series("", "series[0]", times[:2], columns, None, 1000)


def test_a_single_row_has_the_step_of_the_training_data(tmp_path):
    (tmp_path / "one.csv").write_text("date,a\n2024-01-01,1\n")
    corpus, one = Corpus(file="one.csv"), {"target": SeriesCodec.fit([series([[1.0]], ["a"])])}
    with pytest.raises(DataError, match="one row does not show how far apart"):
        read_series(corpus, one, tmp_path)
    [row] = read_series(corpus, one, tmp_path, "W-SUN").rows
    assert str(row["target"].frequency) == "W-SUN"
    codecs = {"target": CODECS["target"]}
    found = text_series("date,a,b\n2024-01-01,1,2\n", "csv", DATA, codecs, 1000, "h")
    assert str(found.rows[0]["target"].frequency) == "h"
    row, _ = list_series("", "s", ["2024-01-01"], {"target": {"a": [1.0]}}, None, 1000, step="D")
    assert str(row["target"].frequency) == "D"


def test_the_last_window_keeps_facts_and_dates():
    row = last_window(ROW, 2)
    assert row["target"].values.tolist() == [[3.0, 4.0], [5.0, 6.5]]
    assert row["target"].start == START + np.timedelta64(1, "h")
    assert len(row["known"]) == 3
    assert row["static"] is ROW["static"]
    assert last_window(ROW, 99)["target"].values.shape == (3, 2)


def test_the_newest_data_of_a_run_are_the_default():
    data = DataConfig(
        train=Corpus(file="a.csv", target="x", part=(0.0, 0.7)),
        valid=Corpus(file="b.csv", part=(0.7, 1.0)),
        root="/data",
    )
    [corpus], root = corpora_of(data, None)
    assert (corpus.file, corpus.part, root) == ("b.csv", None, Path("/data"))
    [corpus], root = corpora_of(data, "new.csv", history="old.csv")
    assert (corpus.file, corpus.history, corpus.target) == ("new.csv", "old.csv", "x")
    assert (corpus.part, root) == (None, Path())
    with pytest.raises(ConfigError, match="history"):
        corpora_of(data, None, history="old.csv")


def test_a_file_is_read_by_column(tmp_path):
    (tmp_path / "a.csv").write_text("date,a\n2024-01-01,1\n2024-01-02,2\n")
    codecs = {"target": SeriesCodec.fit([series([[1.0]], ["a"])])}
    read = read_series(Corpus(file="a.csv"), codecs, tmp_path)
    [row] = read.rows
    assert (row["target"].values[:, 0].tolist(), read.places) == ([1.0, 2.0], ["a.csv:2"])


def test_unknown_categories_are_counted(tmp_path):
    (tmp_path / "a.csv").write_text("date,a,c\n2024-01-01,1,x\n2024-01-02,2,w\n2024-01-03,3,v\n")
    values = np.array([["x"], ["y"]], object)
    codecs = {
        "target": SeriesCodec.fit([series([[1.0]], ["a"])]),
        "past": SeriesCodec.fit([series(values, ["c"])]),
    }
    read = read_series(Corpus(file="a.csv", past="c"), codecs, tmp_path)
    assert [str(note) for note in read.notes] == [
        "2 values of column 'c' that training has not seen, read as missing"
    ]


OTHERS = "z,when,b,a\n1,2024-01-01,2,3\n1,2024-01-02,2,3\n"


@pytest.mark.parametrize(
    "corpus",
    [Corpus(), Corpus(target=["a", "b"]), Corpus(id="shop", time="date"), Corpus(time=2)],
)
def test_files_and_texts_are_read_by_one_rule(tmp_path, corpus):
    """Columns have any order, others are left out, and an absent id or time is found anew."""
    data = replace(DATA, train=replace(corpus, file="train.csv"))
    codecs = {"target": CODECS["target"]}
    [text] = text_series(OTHERS, "csv", data, codecs, 1000).rows
    (tmp_path / "new.csv").write_text(OTHERS)
    [found], _ = corpora_of(data, "new.csv")
    read = read_series(found, codecs, tmp_path)
    [row] = read.rows
    for one in (text["target"], row["target"]):
        assert one.columns == ("a", "b")
        assert one.values.tolist() == [[3.0, 2.0]] * 2
        assert str(one.frequency) == "D"
    is_open = corpus.target is None
    unknown = "1 column that the training data did not have, left out: z"
    assert [str(note) for note in read.notes] == [unknown] * is_open


def test_a_number_of_a_column_that_is_forecast_is_no_name():
    """It is that of a table with other columns."""
    data = replace(DATA, train=Corpus(file="train.csv", id=2))
    text = "date,a,b\n2024-01-01,1,2\n2024-01-02,1,2\n"
    [row] = text_series(text, "csv", data, {"target": CODECS["target"]}, 1000).rows
    assert (row["target"].name, row["target"].values.tolist()) == ("", [[1.0, 2.0]] * 2)


@pytest.mark.parametrize(
    ("trained", "file", "form", "expected"),
    [
        ("a.csv", "b.csv", None, ("long", "x")),
        ("a.csv", "b.csv", "wide", ("wide", "x")),
        ("a.csv", "b.parquet", None, ("auto", "x")),
        ("a.csv", "b.ts", None, ("auto", None)),
        ("a.txt", "b.txt", None, ("long", "x")),
    ],
)
def test_the_format_of_a_new_file(trained, file, form, expected):
    data = DataConfig(train=Corpus(file=trained, format="long", target="x"))
    [corpus], _ = corpora_of(data, file, form)
    assert (corpus.format, corpus.target) == expected

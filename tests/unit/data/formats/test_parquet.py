"""Parquet files of series, wide and long."""

import datetime
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from format_rows import message_of

from headway.data.config import Corpus
from headway.data.formats.read import read
from headway.errors import ConfigError, DataError, MissingExtra

DAYS = [datetime.datetime(2020, 1, day) for day in (1, 2, 4)]


@pytest.fixture
def parquet(tmp_path):
    def run(columns, requested=("target",), **settings):
        pyarrow.parquet.write_table(pa.table(columns), tmp_path / "s.parquet")
        return list(read(Corpus(file="s.parquet", **settings), requested, tmp_path))

    return run


def test_wide(parquet):
    [row] = parquet({"date": DAYS, "a": [1, None, 3], "b": ["x", "y", "z"]})
    [target] = row.values
    assert np.array_equal(target.values[:, 0], [1, np.nan, np.nan, 3], equal_nan=True)
    assert (target.columns, str(target.frequency), row.where) == (("a",), "D", "s.parquet: row 1")
    assert [(note.text, note.count, note.places) for note in row.notes] == [
        ("column 'b' is text and is not read", 0, ()),
        ("frequency D, inferred from the times", 0, ()),
        ("missing values in column 'a'", 1, ("s.parquet: row 2",)),
        ("times without a row, after", 1, ("s.parquet: row 2",)),
    ]


def test_long_with_labels(parquet):
    found = parquet(
        {"unique_id": [7, 7, 8], "ds": [1, 2, 1], "x": [1.0, 2.0, 3.0], "label": ["a", "a", "b"]},
        ("series", "label"),
    )
    assert [(row.values[0].name, row.values[1]) for row in found] == [("7", "a"), ("8", "b")]


def test_history(parquet, tmp_path):
    pyarrow.parquet.write_table(pa.table({"date": DAYS[:2], "a": [5, 6]}), tmp_path / "h.parquet")
    [row] = parquet({"date": DAYS[2:], "a": [7]}, history="h.parquet")
    assert row.values[0].history == 3
    assert row.values[0].values[-1] == 7


def test_faults(parquet, tmp_path):
    (tmp_path / "s.parquet").write_text("no parquet")
    corpus = Corpus(file="s.parquet")
    text = message_of(DataError, lambda: list(read(corpus, ("target",), tmp_path)))
    assert text.startswith("s.parquet: cannot be read as Parquet (")
    text = message_of(DataError, parquet, {"date": DAYS, "a": [1.0, float("inf"), 2.0]})
    assert text.startswith("s.parquet: row 2: 'inf' in column 'a' is infinite")
    text = message_of(DataError, parquet, {"date": [DAYS[0], None], "a": [1, 2]})
    assert text == "s.parquet: row 2: the time is empty; fill it in"
    text = message_of(DataError, parquet, {"date": [DAYS[0], DAYS[0]], "a": [1, 2]})
    assert text.startswith("s.parquet: row 2: the time 2020-01-01 is also that of s.parquet: row 1")
    text = message_of(ConfigError, parquet, {"a": [1]}, ("series", "label"))
    assert text.startswith("s.parquet: which column names the series? The header has a; say it")
    halves = [datetime.datetime(2020, 1, 1, 0, 0, 0, 500_000 * i) for i in range(2)]
    text = message_of(DataError, parquet, {"date": halves, "a": [1, 2]})
    assert text.startswith("s.parquet: row 2: the time has a part of a second")


def test_a_file_of_more_cells_than_bytes(parquet):
    text = message_of(DataError, parquet, {"a": np.zeros(100_000_000, np.int8)})
    assert text.startswith(
        "s.parquet: cannot be read as Parquet (it unpacks to more than 250 times"
    )


def test_the_missing_package_is_named(tmp_path, monkeypatch):
    (tmp_path / "s.parquet").touch()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"reading s.parquet needs the package 'pyarrow'"):
        list(read(Corpus(file="s.parquet"), ("target",), tmp_path))

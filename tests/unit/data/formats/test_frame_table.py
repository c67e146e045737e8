"""Columns of frames as cells: numbers, times, text; the frames that are refused."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from format_rows import message_of

from headway.data.formats.frame_table import frame_table
from headway.errors import DataError, MissingExtra


def cells(*values, kind=None):
    table = frame_table(pa.table({"a": pa.array(values, kind)}), "f")
    return table.columns[0]


def test_numbers():
    assert np.array_equal(cells(1, None, 3), [1, np.nan, 3], equal_nan=True)
    assert cells(1.5, 2.5).tolist() == [1.5, 2.5]


def test_times_keep_their_clock():
    noon = datetime.datetime(2020, 7, 1, 12)
    for kind in (pa.timestamp("ns"), pa.timestamp("s"), pa.date32()):
        assert str(cells(noon, kind=kind)[0])[:10] == "2020-07-01"
    # The zone's clock is two hours ahead of the stored instants.
    assert (
        str(cells(noon, kind=pa.timestamp("us", "Europe/Berlin"))[0])
        == "2020-07-01T14:00:00.000000"
    )
    assert np.isnat(cells(noon, None, kind=pa.timestamp("us"))).tolist() == [False, True]


def test_text():
    assert cells("x", None) == ["x", ""]
    assert cells(True, False) == ["True", "False"]
    assert cells("x", "y", "x", kind=pa.dictionary(pa.int8(), pa.string())) == ["x", "y", "x"]


def test_places():
    table = frame_table(pa.table({"a": [1, 2], "b": ["x", "y"]}), "sales")
    assert (table.header, table.place(1), table.where) == (["a", "b"], "sales: row 2", "sales")


def test_frames_that_are_refused(monkeypatch):
    assert message_of(DataError, cells, [1, 2]).startswith("f: column 'a' holds List(Int64)")
    assert message_of(DataError, frame_table, pa.table({"a": []}), "f") == "f has no rows"
    with pytest.raises(TypeError, match=r"^a frame of pandas, polars or pyarrow was expected, not"):
        frame_table([1], "f")
    monkeypatch.setitem(__import__("sys").modules, "narwhals", None)
    with pytest.raises(MissingExtra, match=r"package 'narwhals', .*\[series\]"):
        frame_table(pa.table({"a": [1]}), "f")

"""Frames as rows of series, and as files that are read like any other."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from format_rows import message_of

from headway.data.config import Corpus
from headway.data.formats.read import read
from headway.data.frames import rows_of_frame, save_frame
from headway.errors import ConfigError, DataError

DAYS = [datetime.datetime(2020, 1, 1) + datetime.timedelta(days=i) for i in range(3)]
WIDE = {"date": DAYS, "a": [1.0, None, 3.0], "shop": ["x", "x", "x"]}
LONG = {"unique_id": ["u", "v", "u"], "ds": [DAYS[0], DAYS[0], DAYS[1]], "y": [1, 2, 3]}


def frames(columns):
    """The same columns as a frame of each library that is installed."""
    yield pa.table(columns)
    for library in ("pandas", "polars"):
        try:
            module = __import__(library)
        except ImportError:
            continue
        yield module.DataFrame(columns)


def test_a_wide_frame():
    for frame in frames(WIDE):
        corpus = Corpus(target="a", static="shop")
        [row] = rows_of_frame(frame, ("target", "static"), corpus)
        target, static = row.values
        assert np.array_equal(target.values[:, 0], [1, np.nan, 3], equal_nan=True)
        assert (str(target.start)[:10], str(target.frequency)) == ("2020-01-01", "D")
        assert static.values.tolist() == [["x"]]
        assert row.where == "the frame: row 1"


def test_a_long_frame_with_history():
    earlier = pa.table({"unique_id": ["u"], "ds": [DAYS[0]], "y": [9]})
    later = pa.table({"unique_id": ["v", "u"], "ds": DAYS[1:], "y": [2, 3]})
    v, u = rows_of_frame(later, ("target",), Corpus(frequency="D"), history=earlier)
    assert [(row.values[0].name, row.values[0].history) for row in (v, u)] == [("v", 0), ("u", 2)]
    assert np.array_equal(u.values[0].values[:, 0], [9, np.nan, 3], equal_nan=True)


@pytest.mark.parametrize("columns", [WIDE, LONG])
@pytest.mark.parametrize("name", ["f.csv", "f.parquet"])
def test_a_saved_frame_is_read_like_the_frame(tmp_path, columns, name):
    for frame in frames(columns):
        save_frame(frame, tmp_path / name)
        direct = rows_of_frame(frame, ("target",))
        saved = list(read(Corpus(file=name), ("target",), tmp_path))
        assert len(direct) == len(saved)
        for one, two in zip(direct, saved, strict=True):
            a, b = one.values[0], two.values[0]
            assert np.array_equal(a.values, b.values, equal_nan=True)
            assert (a.name, a.columns, a.start, a.frequency) == (
                *(b.name, b.columns, b.start, b.frequency),
            )


def test_an_index_of_times_is_a_column():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({0: [1.0, 2.0]}, index=pandas.to_datetime(DAYS[:2]))
    [row] = rows_of_frame(frame, ("target",))
    assert (row.values[0].columns, str(row.values[0].frequency)) == (("0",), "D")


def test_messages_name_the_row():
    frame = pa.table({"date": DAYS, "a": ["1", "2", "many"]})
    text = message_of(DataError, rows_of_frame, frame, ("target",))
    assert text.startswith("the frame: row 3: 'many' in column 'a' is no number")
    text = message_of(ConfigError, rows_of_frame, frame, ("series",))
    assert text.startswith("the frame: which column names the series? The header has date, a")


def test_files_that_cannot_be_written(tmp_path):
    frame = pa.table(WIDE)
    text = message_of(ConfigError, save_frame, frame, tmp_path / "f.xlsx")
    assert text.endswith("frames are written as .csv or .parquet; choose one of these extensions")
    for name in ("f.csv", "f.parquet"):
        text = message_of(DataError, save_frame, frame, tmp_path / "absent" / name)
        assert "cannot be written: " in text

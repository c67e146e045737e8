"""Series in the forms that a program has: files, frames, arrays, `Series`."""

from pathlib import Path

import numpy as np
import pandas
import pytest

from headway.data.codecs.codec import Codec
from headway.data.codecs.series import NumberColumn, SeriesCodec
from headway.data.config import Corpus
from headway.data.frequency import Frequency
from headway.data.series import Series
from headway.errors import DataError
from headway.inference.series_inputs import read_series, rows_of

LINES = "date,a,b\n2024-01-01,1,10\n2024-01-02,2,20\n2024-01-03,,30\n"
VALUES = [[1.0, 10.0], [2.0, 20.0], [np.nan, 30.0]]
FIRST = np.datetime64("2024-01-01", "s")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "sales.csv").write_text(LINES)
    return tmp_path / "sales.csv"


def only(given: tuple[list[dict[str, Series]], list[str]]) -> Series:
    """The target of the only row."""
    [[row], _] = given
    assert row.keys() == {"target"}
    return row["target"]


def codecs(*names: str) -> dict[str, Codec]:
    return {"target": SeriesCodec([NumberColumn(name) for name in names])}


def target_of(data: object, corpus: Corpus | None = None, names: str = "ab") -> Series:
    return only(rows_of(data, codecs(*names), corpus or Corpus()))


def same_as_the_file(series: Series) -> None:
    assert series.columns == ("a", "b")
    np.testing.assert_array_equal(series.values, VALUES)
    assert (series.start, str(series.frequency)) == (FIRST, "D")


def test_a_file_by_its_path_or_name(path: Path) -> None:
    same_as_the_file(target_of(path))
    same_as_the_file(target_of(str(path)))
    assert rows_of(path, codecs("a", "b"), Corpus())[1] == [f"{path}:2"]


def test_frames_of_pandas_and_pyarrow(path: Path) -> None:
    import pyarrow.csv

    frame = pandas.read_csv(path, parse_dates=["date"])
    same_as_the_file(target_of(frame))
    same_as_the_file(target_of(frame.set_index("date")))
    same_as_the_file(target_of(pyarrow.csv.read_csv(path)))


def test_a_series_of_pandas_has_its_name_as_column(path: Path) -> None:
    column = pandas.read_csv(path, parse_dates=["date"], index_col="date")["b"]
    series = target_of(column, names="b")
    assert series.columns == ("b",)
    assert series.values[:, 0].tolist() == [10, 20, 30]
    assert series.start == FIRST


def test_frames_are_read_as_the_training_data_were(path: Path) -> None:
    assert target_of(pandas.read_csv(path), Corpus(time="date"), "b").columns == ("b",)


def test_columns_of_files_and_frames_have_any_order_and_others_are_left_out(path: Path) -> None:
    lines = (line.split(",") for line in path.read_text().splitlines())
    path.write_text("".join(f"{b},{a},7,{date}\n" for date, a, b in lines).replace("7", "c", 1))
    same_as_the_file(target_of(path))
    same_as_the_file(target_of(pandas.read_csv(path)))


def test_an_array_has_numbered_steps() -> None:
    series = target_of(np.array([[1, 10], [2, 20]]))
    assert (series.name, series.columns, series.start) == ("", ("a", "b"), 0)
    assert series.frequency == Frequency("step")
    assert series.values.dtype == np.float64
    one = only(rows_of(np.array([1.0, 2.0]), codecs("a"), Corpus()))
    assert one.values.tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize(
    ("array", "problem"),
    [
        (np.zeros(3), "an array of float64 with shape (3,)"),
        (np.zeros((3, 2, 1)), "an array of float64 with shape (3, 2, 1)"),
        (np.array([["x", "y"]]), "an array of <U1 with shape (1, 2)"),
    ],
)
def test_another_array_is_refused(array: np.ndarray, problem: str) -> None:
    with pytest.raises(DataError) as caught:
        target_of(array)
    assert str(caught.value) == (
        f"{problem}; expected numbers with a row for each step and 2 columns: a, b"
    )


def test_series_alone_in_lists_and_with_covariates() -> None:
    series = Series("x", ("a",), np.zeros((2, 1)), 0, Frequency("step"))
    assert only(rows_of(series, codecs("a"), Corpus())) is series
    rows, places = rows_of([series, {"target": series}], codecs("a"), Corpus())
    assert [row["target"] for row in rows] == [series, series]
    assert places == ["series 1", "series 2"]


def test_anything_else_is_refused() -> None:
    for wrong in (3, [1.0, 2.0]):
        with pytest.raises(TypeError, match="expected a file, a frame, a NumPy array, or a list"):
            target_of(wrong)


def test_a_file_without_series_is_refused(path: Path) -> None:
    path.write_text("date,a,b\n")
    with pytest.raises(DataError):
        read_series(Corpus(file=path.name), codecs("a", "b"), path.parent)

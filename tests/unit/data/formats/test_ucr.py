"""Series with a class or a number: .ts files, label-first lines and .npz archives."""

import io
import zipfile

import numpy as np
import pytest
from format_rows import message_of

from headway.data.config import Corpus
from headway.data.formats import Note
from headway.data.formats.read import read
from headway.data.formats.ucr import is_label_header, without_end
from headway.errors import ConfigError, DataError

LABELLED = ("series", "label")
NAN = np.nan
HEADER = (
    "# about\n@problemName x\n@timeStamps false\n@univariate false\n@classLabel true a b\n@data\n"
)


def same(values, expected):
    return np.array_equal(values, np.array(expected, float), equal_nan=True)


class TestTs:
    def test_dimensions_of_several_lengths(self, rows):
        one, two = rows("s.ts", HEADER + "1,2,3:4,5,6:a\n7,8:9,?:b\n", LABELLED)
        assert same(one.values[0].values, [[1, 4], [2, 5], [3, 6]])
        assert same(two.values[0].values, [[7, 9], [8, NAN]])
        assert [row.values[1] for row in (one, two)] == ["a", "b"]
        assert (one.values[0].columns, one.values[0].start, one.where) == (("1", "2"), 0, "s.ts:7")
        assert two.notes == (Note("missing values in column '2'", 1, ("s.ts:8",)),)

    def test_values_and_series_alone(self, rows):
        header = "@univariate true\n@targetlabel true\n@data\n"
        [row] = rows("s.ts.gz", header + "1,2:0.5\n", ("series", "value"))
        assert row.values[1] == "0.5"
        [row] = rows("s.ts", header + "1,2:0.5\n", ("series",))
        assert same(row.values[0].values, [[1], [2]])
        [row] = rows("s.ts", "@classLabel false\n@data\n1,2\n", ("series",))
        assert same(row.values[0].values, [[1], [2]])

    def test_filled(self, rows):
        [row] = rows("s.ts", HEADER + "1,?,3:4,5,6:a\n", LABELLED, missing="fill")
        assert same(row.values[0].values[:, 0], [1, 2, 3])

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("1,2:a\n", "s.ts:1: expected a line such as @data before the series"),
            ("@timeStamps true\n@data\n", "s.ts:1: values with time stamps are not read; write"),
            ("", "s.ts: no line @data; is this a .ts file?"),
            (HEADER + "1,2:c\n", "s.ts:7: the class 'c' is not one of @classLabel, a, b; is it"),
            (HEADER + "1:2:a\n1:a\n", "s.ts:8: 1 dimension where 2 were expected; they are"),
            (HEADER + "1,2:3:a\n", "s.ts:7: dimensions of 1 to 2 values; all dimensions of a"),
            (HEADER + "1,x:a\n", "s.ts:7: 'x' in cell 2 is no number"),
            (HEADER + "?,?:a\n", "s.ts:7: the series has no values"),
            ("@data\n1,2\n", "s.ts:2: the series has no class or value, which the task needs"),
        ],
    )
    def test_faults(self, rows, text, message):
        assert message_of(DataError, rows, "s.ts", text, LABELLED).startswith(message)

    def test_settings_without_meaning(self, rows):
        text = message_of(ConfigError, rows, "s.ts", HEADER, LABELLED, label="kind")
        assert text == (
            "s.ts: label is given, but format 'ts' has fixed places for everything; leave it out"
        )
        text = message_of(ConfigError, rows, "s.ts", HEADER, ("target",))
        assert text.startswith("s.ts: format 'ts' has no target; it is for tasks that classify")
        text = message_of(
            DataError, rows, "s.ts", HEADER + "1,?:1,2:a\n", LABELLED, missing="error"
        )
        assert text == 's.ts:7: 1 value missing; set missing to "mask" or "fill"'


class TestLabelFirst:
    @pytest.mark.parametrize("line", ["2\t0.5\t-1\n", "2,0.5,-1\n", "  2  5e-1  -1.0\n"])
    def test_separators(self, rows, line):
        [row] = rows("s.txt", line + "\n", LABELLED, format="ucr")
        assert same(row.values[0].values, [[0.5], [-1]])
        assert row.values[1] == "2"

    def test_shorter_series_are_padded(self, rows):
        [row] = rows("s.tsv", "1\t0.5\tNaN\t2\tNaN\tNaN\n", LABELLED)
        assert same(row.values[0].values[:, 0], [0.5, NAN, 2])

    def test_a_header(self, rows):
        [row] = rows("s.csv", "label,a,b\nyes,1,2\n", LABELLED)
        assert (row.values[1], row.where) == ("yes", "s.csv:2")
        assert is_label_header(" Class ")
        assert not is_label_header("walking")

    def test_faults(self, rows):
        text = message_of(DataError, rows, "s.tsv", "1\t2\n3\t\n", LABELLED)
        assert text == "s.tsv:2: a label without values; expected the label and then numbers"
        text = message_of(DataError, rows, "s.tsv", "1\t2\n3\t2\tx\n", LABELLED)
        assert text.startswith("s.tsv:2: 'x' in cell 3 is no number")


class TestNpz:
    @pytest.fixture
    def archive(self, tmp_path):
        def run(columns=LABELLED, **arrays):
            np.savez(tmp_path / "s.npz", **arrays)
            return list(read(Corpus(file="s.npz"), columns, tmp_path))

        return run

    def test_one_channel(self, archive):
        found = archive(X=np.array([[1, 2, 3], [4, 5, 6]]), y=np.array(["a", "b"]))
        assert same(found[0].values[0].values, [[1], [2], [3]])
        assert [row.values[1] for row in found] == ["a", "b"]
        assert [row.where for row in found] == ["s.npz: series 1", "s.npz: series 2"]

    def test_channels_come_before_steps(self, archive):
        x = np.array([[[1, 2, NAN], [3, 4, NAN]]], np.float32)
        [row] = archive(X=x, y=np.array([7]))
        assert same(row.values[0].values, [[1, 3], [2, 4]])
        assert row.values[1] == "7"
        assert row.values[0].values.dtype == np.float64

    def test_without_labels(self, archive):
        [row] = archive(("series",), X=np.ones((1, 2)))
        assert same(row.values[0].values, [[1], [1]])
        text = message_of(DataError, archive, LABELLED, X=np.ones((1, 2)))
        assert text.startswith("s.npz: series 1: the series has no class or value")

    @pytest.mark.parametrize(
        ("arrays", "message"),
        [
            ({"Y": np.ones(2)}, "s.npz: cannot be read ('X is not a file in the archive'); expect"),
            ({"X": np.ones(2)}, "s.npz: X is (2,) of float64; expected arrays X (n, T) or (n, C,"),
            ({"X": np.array([["a"]])}, "s.npz: X is (1, 1) of <U1; expected arrays"),
            ({"X": np.ones((2, 2)), "y": np.ones(3)}, "s.npz: X is (2, 2) of float64 and y (3,);"),
            ({"X": np.array([[np.inf]])}, "s.npz: series 1: a value is infinite; expected finite"),
            ({"X": np.full((1, 2), NAN)}, "s.npz: series 1: the series has no values"),
            (
                {"X": np.array([[{}]], object)},
                "s.npz: cannot be read (Object arrays cannot be load",
            ),
        ],
    )
    def test_faults(self, archive, arrays, message):
        assert message_of(DataError, archive, ("series",), **arrays).startswith(message)

    def test_files_that_are_no_archives(self, rows):
        text = message_of(DataError, rows, "s.npz", "no zip", LABELLED)
        assert text.startswith("s.npz: cannot be read (File is not a zip file); expected arrays X")

    def test_an_archive_that_unpacks_to_too_much(self, tmp_path):
        content = io.BytesIO()
        np.save(content, np.zeros((1, 10_000_000)))
        with zipfile.ZipFile(tmp_path / "s.npz", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("X.npy", content.getvalue())
        text = message_of(DataError, lambda: list(read(Corpus(file="s.npz"), LABELLED, tmp_path)))
        assert text.startswith("s.npz: cannot be read (it unpacks to more than 250 times its size)")


def test_the_end_of_padded_series():
    assert without_end(np.array([[1, NAN], [NAN, 2], [NAN, NAN]])).shape == (2, 2)
    assert without_end(np.full((2, 1), NAN)).shape == (0, 1)

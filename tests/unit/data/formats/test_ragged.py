"""M4's lines: a name and values of any number."""

import numpy as np
import pytest
from format_rows import message_of

from headway.data.config import Corpus
from headway.data.formats import Note
from headway.data.formats.ragged import is_ragged_header
from headway.data.formats.read import read
from headway.errors import ConfigError, DataError

TARGET = ("target",)
HEADER = '"V1","V2","V3","V4"\n'


@pytest.fixture
def ragged(rows):
    def run(text, columns=TARGET, **settings):
        return rows("r.csv", text, columns, format="ragged", **settings)

    return run


def numbers(row):
    return row.values[0].values[:, 0].tolist()


def test_names_and_values(ragged):
    one, two = ragged(HEADER + '"H1","1","2","3"\n"H2","4",,\n')
    assert (one.values[0].name, numbers(one), one.where) == ("H1", [1, 2, 3], "r.csv:2")
    assert (two.values[0].name, numbers(two), two.notes) == ("H2", [4], ())
    assert (one.values[0].start, str(one.values[0].frequency)) == (0, "step")
    assert one.values[0].columns == ("value",)


def test_a_file_without_header(ragged):
    assert [numbers(row) for row in ragged("a,1,2\nb,3\n")] == [[1, 2], [3]]
    assert is_ragged_header(["V1", "v2"])
    assert not is_ragged_header(["V1"])
    assert not is_ragged_header(["V1", "a"])


def test_the_frequency_is_a_name(ragged):
    [row] = ragged("a,1,2\n", frequency="h")
    assert (row.values[0].frequency.season, row.values[0].start) == (24, 0)
    text = message_of(ConfigError, ragged, "a,1,2\n", frequency="often")
    assert text.startswith("frequency = 'often': expected a number and one of")


def test_missing_values(ragged):
    [row] = ragged("a,1,NA,3\n")
    assert np.isnan(numbers(row)[1])
    assert row.notes == (Note("missing values in column 'value'", 1, ("r.csv:1",)),)
    [row] = ragged("a,1,NA,3\n", missing="fill")
    assert numbers(row) == [1, 2, 3]
    assert row.notes[0].text == "missing values in column 'value', filled"
    text = message_of(DataError, ragged, "a,1,NA,3\n", missing="error")
    assert text == 'r.csv:1: 1 value missing; set missing to "mask" or "fill"'


def test_history_follows_directly(tmp_path):
    (tmp_path / "train.csv").write_text(HEADER + "H1,1,2,3\nH2,4,,\n")
    (tmp_path / "test.csv").write_text(HEADER + "H2,5,6,7\nH1,8,9,10\n")
    corpus = Corpus(file="test.csv", history="train.csv")
    two, one = read(corpus, TARGET, tmp_path)
    assert (numbers(two), two.values[0].history) == ([4, 5, 6, 7], 1)
    assert (numbers(one), one.values[0].history) == ([1, 2, 3, 8, 9, 10], 3)
    (tmp_path / "test.csv").write_text(HEADER + "H9,5,6,7\n")
    text = message_of(DataError, lambda: list(read(corpus, TARGET, tmp_path)))
    assert text == "test.csv:2: the series 'H9' is not in train.csv"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,1,x,3\n", "r.csv:1: 'x' in cell 3 is no number; correct it, or leave the cell empty"),
        ("a,1,inf\n", "r.csv:1: 'inf' in cell 3 is infinite"),
        ("a,1\na,2\n", "r.csv:2: the series 'a' is also in r.csv:1; give it another name"),
    ],
)
def test_faults(ragged, text, message):
    assert message_of(DataError, ragged, text).startswith(message)


@pytest.mark.parametrize(
    ("columns", "settings", "name"),
    [
        (("target", "past"), {"past": "x"}, "past"),
        (TARGET, {"target": "x"}, "target"),
        (TARGET, {"id": "x"}, "id"),
        (TARGET, {"time": "x"}, "time"),
    ],
)
def test_settings_that_need_columns(ragged, columns, settings, name):
    assert message_of(ConfigError, ragged, "a,1\n", columns, **settings) == (
        f"r.csv: {name} needs a column, and format 'ragged' has values alone; leave it out, or use "
        "a long table"
    )

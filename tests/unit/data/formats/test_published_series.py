"""The published data sets of series, read as they are; prints how long each takes."""

import os
import time
from pathlib import Path

import numpy as np
import pytest

from headway.data.config import Corpus
from headway.data.formats.read import read

pytestmark = pytest.mark.data


@pytest.fixture
def rows():
    folder = Path(os.environ["HEADWAY_DATA"])

    def run(file, columns=("target",), **settings):
        start = time.perf_counter()
        found = list(read(Corpus(file=file, **settings), columns, folder))
        print(f"{file}: {time.perf_counter() - start:.2f} s")
        return found

    return run


def notes(row):
    return {note.text: (note.count, note.places) for note in row.notes}


@pytest.mark.parametrize(
    ("name", "frequency", "n"), [("ETTh1", "h", 17_420), ("ETTm1", "15min", 69_680)]
)
def test_ett(rows, name, frequency, n):
    [row] = rows(f"ett/{name}.csv.gz")
    [target] = row.values
    assert (target.values.shape, str(target.frequency)) == ((n, 7), frequency)
    assert str(target.start) == "2016-07-01T00:00:00"
    assert not target.is_missing.any()
    assert list(notes(row)) == [f"frequency {frequency}, inferred from the times"]


def test_weather_has_a_row_twice_and_a_gap(rows):
    [row] = rows("weather/weather.csv.gz")
    [target] = row.values
    assert (target.values.shape, str(target.frequency)) == ((52_696 - 1 + 9, 21), "10min")
    found = notes(row)
    name = "weather/weather.csv.gz"
    assert found["rows equal to the row before, left out"] == (1, (f"{name}:19046",))
    assert found["times without a row, after"] == (9, (f"{name}:21515",))
    assert target.is_missing.sum() == 9 * 21


def test_beijing_has_gaps_and_categories(rows):
    columns = ("target", "past")
    settings = {"target": "pm2.5", "past": ["TEMP", "cbwd"]}
    [row] = rows("beijing-pm25/beijing_pm25.csv.gz", columns, **settings)
    target, past = row.values
    assert (target.values.shape, str(target.frequency)) == ((43_824, 1), "h")
    assert notes(row)["missing values in column 'pm2.5'"][0] == target.is_missing.sum() == 2067
    assert set(past.values[:, 1]) == {"NW", "NE", "SE", "cv"}


def test_m4_with_its_history(rows):
    train = rows("m4/Hourly-train.csv.gz", frequency="h")
    assert {len(row.values[0]) for row in train} == {700, 960}
    test = rows("m4/Hourly-test.csv.gz", history="m4/Hourly-train.csv.gz", frequency="h")
    assert len(train) == len(test) == 414
    for earlier, later in zip(train, test, strict=True):
        one, two = earlier.values[0], later.values[0]
        assert (two.name, two.history, len(two)) == (one.name, len(one), len(one) + 48)
        assert np.array_equal(two.values[: len(one)], one.values)


def test_labelled_series(rows):
    for part, n, lengths in (("TRAIN", 270, (7, 26)), ("TEST", 370, (7, 29))):
        found = rows(f"ucr/JapaneseVowels_{part}.ts.gz", ("series", "label"))
        sizes = [len(row.values[0]) for row in found]
        assert (len(found), min(sizes), max(sizes)) == (n, *lengths)
        assert {len(row.values[0].columns) for row in found} == {12}
        assert {row.values[1] for row in found} == set("123456789")
    for part, n in (("TRAIN", 500), ("TEST", 4500)):
        found = rows(f"ucr/ECG5000_{part}.tsv.gz", ("series", "label"))
        assert (len(found), {len(row.values[0]) for row in found}) == (n, {140})
        assert {row.values[1] for row in found} == set("12345")
    for part, n in (("TRAIN", 140), ("TEST", 61)):
        found = rows(f"ucr/Covid3Month_{part}.ts.gz", ("series", "value"))
        assert (len(found), {len(row.values[0]) for row in found}) == (n, {84})
        assert all(0 <= float(row.values[1]) < 1 for row in found)

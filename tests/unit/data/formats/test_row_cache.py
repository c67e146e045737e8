"""Rows of files of series are read once while the files stay as they are."""

import os

import numpy as np
import pytest

from headway.data.config import Corpus
from headway.data.formats import row_cache
from headway.data.formats.read import read

LINES = "date,a,b\n2020-01-01,1,x\n2020-01-02,2,y\n"


@pytest.fixture
def reads(tmp_path, monkeypatch):
    """Reads a file whose last change was an hour ago; counts how often it was parsed."""
    monkeypatch.setattr(row_cache, "_kept", row_cache.OrderedDict())
    parsed = []

    def run(text=None, age=3600, columns=("target",), **settings):
        path = tmp_path / "s.csv"
        if text is not None:
            path.write_text(text)
            changed = path.stat().st_mtime - age
            os.utime(path, (changed, changed))
        corpus = Corpus(file="s.csv", **settings)
        return [row.values[0].values[:, 0].tolist() for row in read(corpus, columns, tmp_path)]

    from headway.data.formats import series_tables

    original = series_tables.read_table
    monkeypatch.setattr(
        series_tables, "read_table", lambda *args: parsed.append(1) or original(*args)
    )
    return run, parsed


def test_parts_of_a_file_are_parsed_once(reads):
    run, parsed = reads
    assert run(LINES, part=(0.0, 0.5)) == run(part=(0.5, 1.0)) == [[1.0, 2.0]]
    assert len(parsed) == 1


def test_what_is_read_otherwise_is_parsed_again(reads):
    run, parsed = reads
    run(LINES)
    run(frequency="h")
    run(columns=("target", "past"), past="b")
    assert len(parsed) == 3


def test_a_file_that_changes_is_parsed_again(reads):
    run, parsed = reads
    run(LINES)
    assert run(LINES.replace("1,x", "7,x"), age=1800) == [[7.0, 2.0]]
    assert len(parsed) == 2


def test_a_file_that_has_just_changed_is_not_kept(reads):
    run, _ = reads
    run(LINES, age=0)
    assert run(LINES.replace("1,x", "7,x"), age=0) == [[7.0, 2.0]]


def test_a_file_too_large_is_not_kept(reads, monkeypatch):
    run, parsed = reads
    monkeypatch.setattr(row_cache, "MOST_BYTES", 100)
    assert run(LINES) == run() == [[1.0, 2.0]]
    assert len(parsed) == 2


def test_rows_that_are_kept_cannot_be_changed(reads, tmp_path):
    run, _ = reads
    run(LINES)
    [row] = read(Corpus(file="s.csv"), ("target",), tmp_path)
    with pytest.raises(ValueError, match="read-only"):
        row.values[0].values += np.float64(1)

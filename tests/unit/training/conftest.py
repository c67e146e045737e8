"""A folder with data for small runs, and a cache of its own."""

import pytest


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """16 pairs of two letters, the target reversed, in `data/pairs.tsv`."""
    monkeypatch.setenv("HEADWAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    (tmp_path / "data").mkdir()
    lines = [f"{a}{b}\t{b}{a}\n" for a in "abcd" for b in "wxyz"]
    (tmp_path / "data" / "pairs.tsv").write_text("".join(lines), encoding="utf-8")
    return tmp_path

"""Rows of test sets, grouped by source or not, and scores as plain data."""

from headway.data.config import Corpus
from headway.data.formats.read import Row
from headway.inference.evaluation import (
    grouped,
    read_rows,
    scores_to_dict,
    timed,
    ungrouped,
    warn_of_same_outputs,
)
from headway.metrics.score import Score

ROWS = [
    Row(("a dog", "ein Hund"), "x:1"),
    Row(("a cat", "eine Katze"), "x:2"),
    Row(("a dog", "der Hund"), "x:3"),
]


def test_ungrouped_rows_stay_apart():
    assert ungrouped(ROWS) == (
        ["a dog", "a cat", "a dog"],
        [["ein Hund"], ["eine Katze"], ["der Hund"]],
        ["x:1", "x:2", "x:3"],
    )


def test_groups_have_all_targets_and_the_location_of_the_first():
    assert grouped(iter(ROWS)) == (
        ["a dog", "a cat"],
        [["ein Hund", "der Hund"], ["eine Katze"]],
        ["x:1", "x:2"],
    )


def test_no_rows_have_no_groups():
    assert grouped([]) == ungrouped([]) == ([], [], [])


def test_corpora_are_read_one_after_the_other(tmp_path):
    (tmp_path / "a.tsv").write_text("one\teins\n")
    (tmp_path / "b.tsv").write_text("two\tzwei\nten\tzehn\n")
    rows = list(
        read_rows([Corpus(file="a.tsv"), Corpus(file="b.tsv")], ("source", "target"), tmp_path)
    )
    assert [row.values for row in rows] == [("one", "eins"), ("two", "zwei"), ("ten", "zehn")]
    assert [row.where for row in rows] == ["a.tsv:1", "b.tsv:1", "b.tsv:2"]


def test_a_running_text_is_one_row(tmp_path):
    (tmp_path / "book.txt").write_text("one\ntwo\n\nten\n")
    [row] = read_rows([Corpus(file="book.txt", format="text")], ("text",), tmp_path)
    assert row.values == ("one\ntwo\n\nten\n",)


def test_scores_are_plain_data_by_metric():
    score = Score("exact match", 12.5, 10.0, 20.0, "exact|n:8")
    assert scores_to_dict({"exact": score}) == {"exact": score.to_dict()}
    assert scores_to_dict({"exact": score})["exact"]["value"] == 12.5


def test_a_timed_call_gives_its_result(monkeypatch):
    clock = iter([10.0, 12.5])
    monkeypatch.setattr("headway.inference.evaluation.time.perf_counter", lambda: next(clock))
    assert timed(lambda: "done") == ("done", 2.5)


def test_one_output_for_all_inputs_is_reported():
    assert warn_of_same_outputs(["none"] * 3, ["a", "b", "a"]) == [
        "all 3 outputs are 'none'; the model may need more training"
    ]
    assert warn_of_same_outputs(["a", "b"], ["a", "a"]) == []
    assert warn_of_same_outputs(["a", "a"], ["a", "a"]) == []  # as it should be
    assert warn_of_same_outputs(["a"], ["b"]) == []

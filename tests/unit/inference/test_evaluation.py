"""Rows of test sets, grouped by source or not, and scores as plain data."""

import pytest

from headway.data.codecs.codec import WrittenCodec
from headway.data.config import Corpus
from headway.data.formats.read import Row
from headway.errors import DataError
from headway.inference.evaluation import (
    grouped,
    read_rows,
    scores_to_dict,
    timed,
    ungrouped,
    usable_rows,
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


PAIR = {"source": WrittenCodec(), "target": WrittenCodec()}


def test_rows_without_a_text_are_left_out_and_counted(tmp_path):
    (tmp_path / "a.tsv").write_text("one\teins\n\ntwo\t \n\tdrei\n \t\nten\tzehn\n")
    both = usable_rows([Corpus(file="a.tsv")], PAIR, tmp_path, needed=2)
    assert [row.where for row in both.rows] == ["a.tsv:1", "a.tsv:6"]
    assert both.warnings == (
        "left out 4 of 6 rows without source or target (a.tsv:2, a.tsv:3, a.tsv:4, ...)",
    )
    assert both.in_line(["1", "10"]) == ["1", "", "", "", "", "10"]
    inputs = usable_rows([Corpus(file="a.tsv")], PAIR, tmp_path, needed=1)
    assert [row.values[0] for row in inputs.rows] == ["one", "two", "ten"]
    [warning] = inputs.warnings
    assert warning == "left out 3 of 6 rows without source (a.tsv:2, a.tsv:4, a.tsv:5)"


def test_blank_lines_of_parallel_files_are_left_out(tmp_path):
    (tmp_path / "a.en").write_text("one\n\nten\n")
    (tmp_path / "a.de").write_text("eins\n\nzehn\n")
    test = usable_rows([Corpus(source="a.en", target="a.de")], PAIR, tmp_path, needed=2)
    assert [row.where for row in test.rows] == ["a.en:1", "a.en:3"]
    assert test.warnings == ("left out 1 of 3 rows without source or target (a.en:2)",)


def test_whole_test_sets_give_no_warning(tmp_path):
    (tmp_path / "a.tsv").write_text("one\teins\n")
    assert usable_rows([Corpus(file="a.tsv")], PAIR, tmp_path, needed=2).warnings == ()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the test data have no rows; name other data"),
        (
            "\none\t\n",
            "none of the 2 rows of the test data has source and target (a.tsv:1, a.tsv:2); "
            "name other data",
        ),
    ],
)
def test_nothing_is_left(tmp_path, content, message):
    (tmp_path / "a.tsv").write_text(content)
    with pytest.raises(DataError) as error:
        usable_rows([Corpus(file="a.tsv")], PAIR, tmp_path, needed=2)
    assert str(error.value) == message


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

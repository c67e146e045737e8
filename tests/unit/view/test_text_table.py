"""Tables for a terminal and for Markdown."""

import pytest

from headway.view.text_table import aligned, piped

TABLE = [["model", "BLEU", "TER"], ["GRU", "7.1", "100.25"], ["Transformer", "31.4", ""]]


def test_names_are_left_aligned_and_figures_right_aligned():
    assert list(aligned(TABLE)) == [
        "model        BLEU     TER",
        "GRU           7.1  100.25",
        "Transformer  31.4",  # no spaces at the end of a line
    ]


def test_markdown_has_a_rule_that_aligns_the_columns_alike():
    assert list(piped(TABLE)) == [
        "| model | BLEU | TER |",
        "| --- | ---: | ---: |",
        "| GRU | 7.1 | 100.25 |",
        "| Transformer | 31.4 |  |",
    ]


def test_pipes_in_cells_do_not_end_them():
    *_, row = piped([["name", "x|y"], ["a|b", "1"]])
    assert row == r"| a\|b | 1 |"
    assert next(piped([["name", "x|y"]])) == r"| name | x\|y |"


def test_a_heading_alone_and_a_single_column():
    assert list(aligned([["a", "b"]])) == ["a  b"]
    assert list(aligned([["name"], ["x"]])) == ["name", "x"]
    assert list(piped([["name"]])) == ["| name |", "| --- |"]


def test_rows_of_different_lengths_are_a_bug():
    with pytest.raises(ValueError, match="shorter"):
        list(aligned([["a", "b"], ["c"]]))

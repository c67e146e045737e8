"""Matrices of counting models with their words."""

from pathlib import Path

import pytest
from counting_texts import CHECKS, LOGS, ORDERS, Text

from headway.teaching.matrices import mask_matrix, pair_matrix, transition_matrix
from headway.teaching.matrix_picture import matrix_svg

PICTURE = Path(__file__).parents[3] / "docs" / "images" / "mask.svg"


def cell(matrix, row, column):
    return matrix.values[matrix.rows.index(row)][matrix.columns.index(column)]


def test_first_order_transitions():
    text = Text(ORDERS)
    matrix = transition_matrix(text.count(order=1), text.words)
    assert matrix.rows == ["⟨bos⟩", "directories", "files", "me", "my", "photos", "please", "show"]
    assert matrix.columns == [
        "⟨eos⟩",
        "directories",
        "files",
        "me",
        "my",
        "photos",
        "please",
        "show",
    ]
    assert cell(matrix, "my", "directories") == pytest.approx(0.2)
    assert cell(matrix, "⟨bos⟩", "show") == 1
    assert [sum(row) for row in matrix.values] == pytest.approx([1] * 8)


def test_second_order_transitions():
    text = Text(CHECKS)
    matrix = transition_matrix(text.count(order=2), text.words)
    assert cell(matrix, "battery ran", "down") == 1
    assert cell(matrix, "program ran", "please") == 1
    assert cell(matrix, "⟨bos⟩ ⟨bos⟩", "check") == 1
    assert cell(matrix, "⟨bos⟩ check", "whether") == 1


def test_chosen_rows_and_columns():
    text = Text(CHECKS)
    matrix = transition_matrix(
        text.count(order=2),
        text.words,
        contexts=[text.ids("program ran"), text.ids("check"), []],
        following=text.ids("please whether"),
    )
    # Short contexts are those at the beginning of a sequence.
    assert matrix.rows == ["program ran", "check", ""]
    assert matrix.values == [[1, 0], [0, 1], [0, 0]]


def test_the_unigram_has_one_row():
    text = Text(ORDERS)
    matrix = transition_matrix(text.count(order=0), text.words)
    assert matrix.rows == [""]
    assert sum(matrix.values[0]) == pytest.approx(1)


def test_votes_and_mask():
    text = Text(LOGS)
    model = text.count(order=2, skips=True, selective=True)
    [ran] = text.ids("ran")
    votes = pair_matrix(model, text.words, ran)
    assert votes.columns == ["down", "please"]
    assert len(votes.rows) == 10
    for row, values in zip(votes.rows, votes.values, strict=True):
        expected = {"battery … ran": [1, 0], "program … ran": [0, 1]}.get(row, [0.5, 0.5])
        assert values == expected
    mask = mask_matrix(model, text.words, [ran])
    assert mask.rows == ["ran"]
    assert dict(zip(mask.columns, mask.values[0], strict=True)) == {
        row.split()[0]: float(row.split()[0] in ("battery", "program")) for row in votes.rows
    }


def test_the_whole_mask_has_a_row_for_every_newest_word():
    text = Text(LOGS)
    everyone = mask_matrix(text.count(order=2, skips=True), text.words)
    assert "check" not in everyone.rows  # nothing stands before it
    assert cell(everyone, "the", "check") == 1
    assert cell(everyone, "the", "log") == 0  # never stood before "the": such a pair has no row


def test_a_newest_word_that_was_never_seen():
    text = Text(LOGS)
    model = text.count(order=2, skips=True)
    assert pair_matrix(model, text.words, 3) == ([], [], [])
    assert mask_matrix(model, text.words, [3]) == (["⟨unk⟩"], [], [[]])


def test_the_picture_of_the_page_is_drawn_from_the_mask():
    text = Text(LOGS)
    mask = mask_matrix(text.count(order=2, skips=True, selective=True), text.words)
    drawn = matrix_svg(*mask, "The mask of a selective model with skips")
    assert PICTURE.read_text(encoding="utf-8") == drawn

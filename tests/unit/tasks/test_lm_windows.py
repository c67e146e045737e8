"""Windows over texts: each token is scored once, with as much before it as fits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.data.store import SelectedColumn, Store, StoreWriter, integers
from headway.tasks.lm_windows import StoredTexts, Window, window_batches, windows_of


def test_a_text_that_fits_is_one_window():
    assert list(windows_of([3, 4, 1], 4)) == [
        Window(0, 0, 0, 3),
        Window(1, 0, 0, 4),
        Window(2, 0, 0, 1),
    ]
    assert list(windows_of([0], 4)) == []


def test_a_longer_one_moves_on_by_half_a_window():
    assert list(windows_of([9], 4)) == [
        Window(0, 0, 0, 4),
        Window(0, 2, 4, 6),
        Window(0, 4, 6, 8),
        Window(0, 5, 8, 9),
    ]


@given(st.lists(st.integers(0, 40), max_size=4), st.integers(2, 9))
def test_every_token_counts_once_and_has_its_context(lengths, size):
    seen = [(w.text, i) for w in windows_of(lengths, size) for i in range(w.scored, w.stop)]
    assert seen == [(text, i) for text, length in enumerate(lengths) for i in range(length)]
    for window in windows_of(lengths, size):
        assert window.stop - window.start <= size
        assert window.start == 0 or window.scored - window.start >= size // 2


def test_batches_count_what_is_scored_and_show_what_was_before():
    texts = [np.array([5, 6, 7, 8, 9, 2]), np.array([4, 2])]
    windows = list(windows_of([6, 2], 4))
    result = {}
    for rows, batch in window_batches(texts, windows, bos=1):
        for row, i in enumerate(rows):
            result[i] = [batch[name][row].tolist() for name in ("tgt_in", "tgt_out", "tgt_valid")]
    assert result[0] == [[1, 5, 6, 7], [5, 6, 7, 8], [True] * 4]
    assert result[1] == [[1, 7, 8, 9], [7, 8, 9, 2], [False, False, True, True]]
    assert result[2][0][:2] == [1, 4]
    assert result[2][2] == [True, True, False, False]


@pytest.fixture
def column(tmp_path):
    with StoreWriter(tmp_path / "store", [integers("text", 20)]) as writer:
        rows = [[5, 6], [7, 2], [2], [8, 9], [10, 11], [2]]
        writer.append({"text": [np.array(row) for row in rows]})
    return Store(tmp_path / "store")["text"]


def test_the_examples_of_a_store_are_joined_up_to_each_end(column):
    texts = StoredTexts(column, eos=2)
    whole = [[5, 6, 7, 2], [2], [8, 9, 10, 11, 2]]
    for _ in range(2):  # may be repeated
        assert [text.tolist() for text in texts] == whole
    assert len(texts) == 3
    assert texts.lengths() == [4, 1, 5]
    with pytest.raises(IndexError, match="text 3 of 3"):
        texts[3]


def test_the_beginning_of_a_text_is_a_text(column):
    """A validation on a share of a running text has no EOS."""
    texts = StoredTexts(SelectedColumn(column, np.arange(5)), eos=2)
    assert [text.tolist() for text in texts] == [[5, 6, 7, 2], [2], [8, 9, 10, 11]]
    assert texts.lengths() == [4, 1, 4]
    assert [text.tolist() for text in StoredTexts(SelectedColumn(column, np.arange(1)), 2)] == [
        [5, 6]
    ]

"""Windows of documents, tokens at characters, the best spans: by hand and by trying all."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.tasks.answer_windows import AnswerWindow, best_spans, document_windows, tokens_at


def test_a_document_that_fits_is_one_passage():
    assert document_windows(4, 4, 0.5) == [AnswerWindow(0, 4)]
    assert document_windows(0, 4, 0.5) == [AnswerWindow(0, 0)]


def test_windows_by_hand():
    assert document_windows(10, 4, 0.5) == [(0, 4), (2, 6), (4, 8), (6, 10)]
    assert document_windows(9, 4, 0.0) == [(0, 4), (4, 8), (5, 9)]
    assert document_windows(6, 4, 0.5) == [(0, 4), (2, 6)]


@given(st.integers(1, 60), st.integers(1, 20), st.floats(0, 0.99))
def test_windows_hold_everything_and_share_what_they_should(n, room, overlap):
    windows = document_windows(n, room, overlap)
    assert windows[0].start == 0
    assert windows[-1].stop == n
    assert len(set(windows)) == len(windows)
    for window, following in pairwise(windows):
        assert window.stop - window.start == room
        assert window.start < following.start
        assert window.stop - following.start >= min(int(room * overlap), room - 1)


def test_a_short_part_is_whole_in_some_window():
    for first in range(28):
        assert any(window.contains(first, first + 2) for window in document_windows(30, 8, 0.5))
    assert not any(window.contains(3, 4) for window in document_windows(8, 4, 0.0))


def test_tokens_at_characters():
    # "in  Paris!" as in, ▁▁Par, is, !
    offsets = np.array([(0, 2), (2, 7), (7, 9), (9, 10)])
    assert tokens_at(offsets, 4, 9) == (1, 2)
    assert tokens_at(offsets, 5, 6) == (1, 1)
    assert tokens_at(offsets, 0, 10) == (0, 3)
    assert tokens_at(offsets, 9, 10) == (3, 3)
    assert tokens_at(np.array([(0, 2), (5, 7)]), 3, 4) is None  # nothing is read there


@pytest.mark.parametrize("longest", [1, 3, 50])
def test_the_best_spans_are_those_of_all(longest):
    rng = np.random.default_rng(longest)
    starts, ends = np.log(rng.dirichlet(np.ones(12), 2))
    every = sorted(
        ((starts[a] + ends[b], a, b) for a in range(12) for b in range(a, min(a + longest, 12))),
        reverse=True,
    )
    for n in (1, 5, 1000):
        spans = best_spans(starts, ends, longest, n)
        assert [(span.first, span.last) for span in spans] == [(a, b) for _, a, b in every[:n]]
        assert [span.log_prob for span in spans] == pytest.approx(
            [value for value, _, _ in every[:n]]
        )


def test_there_may_be_no_spans():
    assert best_spans(np.empty(0), np.empty(0), 3, 5) == []
    impossible = np.array([-np.inf, 0.0])
    assert best_spans(impossible, np.array([0.0, -np.inf]), 3, 5) == []

"""The unigram trainer on words small enough to reason about."""

import math

import pytest

from headway.text import TokenizerConfig, train_tokenizer, unigram
from headway.text.unigram import _best_without, _expected_counts, train_unigram


def test_expected_counts_by_hand():
    # p(a) = p(b) = p(ab) = 1/3. "ab" is ab with 1/3 or a+b with 1/9: shares 3/4 and 1/4.
    counts = _expected_counts([("ab", 8)], {"a": 1.0, "b": 1.0, "ab": 1.0})
    assert counts == pytest.approx({"a": 2.0, "b": 2.0, "ab": 6.0})


def test_expected_counts_over_several_segmentations():
    # All 1/4. "aab": a+a+b 1/64, aa+b 4/64, a+ab 4/64, so shares 1/9, 4/9, 4/9.
    counts = _expected_counts([("aab", 9)], {"a": 1.0, "b": 1.0, "aa": 1.0, "ab": 1.0})
    assert counts == pytest.approx({"a": 6.0, "b": 5.0, "aa": 4.0, "ab": 4.0})


def test_best_segmentation_without_a_piece():
    log_probs = {"a": -1.0, "b": -2.0, "c": -4.0, "bc": -2.5, "abc": -0.1}
    assert _best_without("abc", log_probs) == -3.5
    assert _best_without("bc", log_probs) == -6.0


def test_frequent_words_become_pieces_even_if_part_of_no_other_word():
    pieces = train_unigram({"xyz": 50, "abc": 40, "ab": 1}, "abcxyz", 8)
    assert [piece for piece, _ in pieces][:2] == ["xyz", "abc"]
    assert len(pieces) == 8
    assert {"a", "b", "c", "x", "y", "z"} <= {piece for piece, _ in pieces}


def test_scores_are_log_probabilities():
    pieces = train_unigram({"low": 5, "lower": 2, "newest": 6, "widest": 3}, "lowernstid", 14)
    assert sum(math.exp(score) for _, score in pieces) == pytest.approx(1.0, abs=1e-4)
    assert [score for _, score in pieces] == sorted((s for _, s in pieces), reverse=True)


def test_order_of_words_does_not_matter():
    counts = {"low": 5, "lower": 2, "newest": 6, "widest": 3, "tied": 3, "ties": 3}
    backwards = dict(reversed(counts.items()))
    alphabet = sorted({character for word in counts for character in word})
    assert train_unigram(counts, alphabet, 16) == train_unigram(backwards, alphabet, 16)


def test_words_of_rare_bytes_do_not_underflow():
    counts = {"common": 10**9, "".join(chr(0x4E00 + i) for i in range(200)): 2}
    alphabet = sorted({character for word in counts for character in word})
    pieces = dict(train_unigram(counts, alphabet, len(alphabet) + 1))
    assert "common" in pieces
    assert all(math.isfinite(score) for score in pieces.values())


def test_the_model_segments_by_the_scores():
    tokenizer = train_tokenizer(
        ["sind sind das die", "sind das ."] * 9, TokenizerConfig(kind="unigram", size=264)
    )
    assert tokenizer.tokens(tokenizer.encode("das sind")) == ["▁das", "▁sind"]


def test_the_symbols_that_are_counted_are_bounded(monkeypatch):
    monkeypatch.setattr(unigram, "_MAX_SYMBOLS", 40)
    words = [("a" * 50, 2), ("b" * 50, 1)]
    assert unigram._parts(words) == [("a" * 36, 2), ("a" * 14, 2)]
    monkeypatch.setattr(unigram, "_MAX_SYMBOLS", 1000)
    assert unigram._parts(words)[2:] == [("b" * 36, 1), ("b" * 14, 1)]

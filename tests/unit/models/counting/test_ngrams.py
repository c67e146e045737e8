"""Counting: n-grams and pairs against a dictionary, continuations, discounts, information gain."""

import re
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headway.models.counting import ngrams
from headway.models.counting.ngrams import (
    BOS,
    FALLBACK,
    PAD,
    Counts,
    continuations,
    count_ngrams,
    count_pairs,
    distinct,
    estimate_discounts,
    information_gain,
    read_corpus,
)
from headway.text import special_tokens

SIZE = 8
texts = st.lists(st.lists(st.integers(2, SIZE - 1), max_size=7), min_size=1, max_size=6).filter(any)


def as_dictionary(levels, depth):
    """Counts by the tuple of context and next word."""
    level = levels[depth]
    found = {}
    for key, count in zip(level.entries, level.counts, strict=True):
        context, word = divmod(int(key), SIZE)
        words = []
        for d in range(depth, 0, -1):
            context, farthest = divmod(int(levels[d].contexts[context]), SIZE)
            words.append(farthest)
        found[(*words, word)] = int(count)
    return found


def pairs_as_dictionary(pairs, first):
    found = {}
    for key, count in zip(pairs.entries, pairs.counts, strict=True):
        pair, word = divmod(int(key), SIZE)
        newest, earlier = divmod(int(pairs.contexts[pair]), SIZE)
        found[(earlier, int(first.contexts[newest]), word)] = int(count)
    return found


def test_marks_are_those_of_every_vocabulary():
    assert (PAD, BOS) == (special_tokens.PAD, special_tokens.BOS)


@given(texts, st.integers(0, 4))
def test_ngrams_are_those_of_a_plain_count(sequences, order):
    corpus = read_corpus([np.array(s, np.uint8) for s in sequences], max(1, order), SIZE)
    levels = count_ngrams(corpus, order, SIZE)
    padded = [[BOS] * order + s for s in sequences]
    for depth in range(order + 1):
        expected = Counter(
            tuple(s[i - depth : i + 1]) for s in padded for i in range(order, len(s))
        )
        assert as_dictionary(levels, depth) == expected
        assert (np.diff(levels[depth].entries) > 0).all()
        assert (np.diff(levels[depth].contexts) > 0).all()


@given(texts, st.none() | st.integers(1, 4), st.sampled_from([1, 3, 2**20]))
def test_pairs_are_those_of_a_plain_count(sequences, distance, chunk):
    corpus = read_corpus([np.array(s) for s in sequences], 1, SIZE)
    first = count_ngrams(corpus, 1, SIZE)[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ngrams, "_CHUNK", chunk)
        pairs = count_pairs(corpus, first, distance, SIZE)
    expected = Counter()
    for s in sequences:
        for i in range(2, len(s)):
            begin = 0 if distance is None else max(0, i - 1 - distance)
            expected.update((earlier, s[i - 1], s[i]) for earlier in set(s[begin : i - 1]))
    assert pairs_as_dictionary(pairs, first) == expected


def test_too_many_pairs(monkeypatch):
    monkeypatch.setattr(ngrams, "MOST_PAIRS", 5)
    corpus = read_corpus([np.array([4, 5, 6, 7, 2])], 1, SIZE)
    first = count_ngrams(corpus, 1, SIZE)[1]
    message = (
        "model.skips pairs each token with those before it, which makes 6 pairs, expected at most "
        "5; set model.skips to a distance, such as 10"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        count_pairs(corpus, first, None, SIZE)
    assert count_pairs(corpus, first, 1, SIZE).counts.sum() == 3


def test_nothing_to_count():
    for nothing in ([], [np.zeros(0, np.int64)]):
        with pytest.raises(ValueError, match="have no tokens to count; give at least one"):
            read_corpus(nothing, 1, SIZE)


@pytest.mark.parametrize("odd", [PAD, BOS, SIZE, -1])
def test_tokens_that_cannot_be_counted(odd):
    message = rf"token {odd} cannot be counted; expected words and EOS, 2 to {SIZE - 1}"
    with pytest.raises(ValueError, match=message):
        read_corpus([np.array([4, 2]), np.array([4, odd, 2])], 1, SIZE)


def test_each_word_of_a_window_once():
    window = torch.tensor([[5, 4, 5, BOS], [PAD, 7, 7, 7], [4, 5, 6, 7]])
    kept = [sorted(set(row) - {PAD}) for row in distinct(window).tolist()]
    assert kept == [[4, 5], [7], [4, 5, 6, 7]]
    assert (distinct(window) != PAD).sum(1).tolist() == [2, 1, 4]
    assert distinct(torch.zeros(3, 0, dtype=torch.int64)).shape == (3, 0)


def test_continuations_count_the_words_in_front():
    """a b, c b, c b: b follows two different words; at the beginning counts stay counts."""
    a, b, c, end = 4, 5, 6, 2
    sequences = [np.array(s) for s in ([a, b, end], [c, b, end], [c, b, end])]
    levels = count_ngrams(read_corpus(sequences, 2, SIZE), 2, SIZE)
    adjusted = continuations(levels, SIZE)
    assert as_dictionary(adjusted, 0) == {(a,): 1, (b,): 2, (c,): 1, (end,): 1}
    assert as_dictionary(adjusted, 1) == {
        (BOS, a): 1,
        (BOS, c): 2,
        (a, b): 1,
        (c, b): 1,
        (b, end): 2,
    }
    assert as_dictionary(adjusted, 2) == as_dictionary(levels, 2)


def test_discounts_by_hand():
    counts = np.array([1] * 10 + [2] * 5 + [3] * 3 + [4] * 2 + [9] * 7)
    # Y = 10 / (10 + 2 * 5) = 1/2
    assert estimate_discounts(counts) == pytest.approx(
        (1 - 2 / 2 * 5 / 10, 2 - 3 / 2 * 3 / 5, 3 - 4 / 2 * 2 / 3)
    )


@pytest.mark.parametrize(
    "counts",
    [[7, 9], [1, 1, 2, 3], [1, 2, 4, 4], [1, 2, 3] + [4] * 9, [1, 1, 2] + [3] * 9 + [4]],
)
def test_discounts_that_cannot_be_estimated(counts):
    assert estimate_discounts(np.array(counts)) == FALLBACK


def test_information_gain_by_hand():
    """After q: w twice, v twice. With x in front: w twice. With y: once each."""
    x, y, q, w, v = 3, 4, 5, 6, 7
    sequences = [np.array(s) for s in ([x, q, w], [x, q, w], [y, q, v], [y, q, w], [q, v], [q, v])]
    corpus = read_corpus(sequences, 1, SIZE)
    first = count_ngrams(corpus, 1, SIZE)[1]
    pairs = count_pairs(corpus, first, None, SIZE)
    assert pairs_as_dictionary(pairs, first) == {(x, q, w): 2, (y, q, v): 1, (y, q, w): 1}
    # Both were seen twice; two words followed q, in equal parts.
    chance = 1 / (2 * 2 * np.log(2))
    assert information_gain(pairs, first, SIZE) == pytest.approx([1 - chance, 0 - chance])


def test_pairs_that_differ_by_chance_have_little_gain():
    """Over pure noise the mean gain is about nought, whatever the number of words."""
    size, draw = 12, np.random.default_rng(0)
    sequences = [draw.integers(2, size, 30) for _ in range(400)]
    corpus = read_corpus(sequences, 1, size)
    first = count_ngrams(corpus, 1, size)[1]
    pairs = count_pairs(corpus, first, 1, size)
    assert abs(information_gain(pairs, first, size).mean()) < 0.01


def test_no_pairs():
    first = Counts(np.array([BOS]), np.array([4]), np.array([2]))
    corpus = read_corpus([np.array([4]), np.array([4])], 1, SIZE)
    pairs = count_pairs(corpus, first, None, SIZE)
    assert len(pairs.contexts) == len(pairs.entries) == len(information_gain(pairs, first, SIZE))

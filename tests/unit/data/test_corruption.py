"""Damaged tokens: how many, which, and that nothing is lost that is to be restored."""

from itertools import pairwise
from math import sqrt

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headway.data import corruption
from headway.data.corruption import Alphabet, draws, share_of

SIZE, CONTROL = 1000, 8
MASK, SENTINELS = 4, (5, 6, 7)
IS_CONTROL = np.arange(SIZE) < CONTROL
ALPHABET = Alphabet(IS_CONTROL, np.arange(SIZE) % 3 == 0, MASK, SENTINELS)

LENGTHS = st.integers(0, 60)
KEYS = st.tuples(st.integers(0, 9), st.integers(0, 99), st.integers(0, 10**6))
RATES = st.floats(0.0, 1.0)


def distinct(n: int) -> np.ndarray:
    """Tokens of which no two are the same, none of them a control token."""
    return np.arange(CONTROL, CONTROL + n, dtype=np.uint16)


def texts(min_size: int = 0) -> st.SearchStrategy[np.ndarray]:
    """Tokens with control tokens among them."""
    ids = st.integers(0, SIZE - 1)
    return st.lists(ids, min_size=min_size, max_size=60).map(lambda x: np.array(x, np.uint16))


def within(found: int, n: int, chance: float) -> bool:
    """Whether a count is within five standard deviations of a binomial's mean."""
    return abs(found - n * chance) <= 5 * sqrt(n * chance * (1 - chance)) + 1e-9


@pytest.mark.parametrize(
    ("n", "rate", "expected"),
    [
        (0, 0.15, 0),
        (1, 0.15, 1),
        (9, 0.15, 1),  # 1.35
        (10, 0.15, 2),  # 1.5: halves go up
        (100, 0.15, 15),
        (30, 0.15, 5),  # 4.5
        (20, 0.0, 0),
        (20, 1.0, 20),
    ],
)
def test_a_rate_as_a_number(n, rate, expected):
    assert share_of(n, rate) == expected


# Masked words


@given(tokens=texts(), key=KEYS, rate=RATES, whole_words=st.booleans())
def test_masking_touches_what_it_names_and_no_control_token(tokens, key, rate, whole_words):
    settings = {"rate": rate, "whole_words": whole_words}
    damaged, places = corruption.mask_words(tokens, draws(*key), ALPHABET, **settings)
    again = corruption.mask_words(tokens, draws(*key), ALPHABET, **settings)
    assert damaged.dtype == tokens.dtype
    assert (damaged.tolist(), places.tolist()) == (again[0].tolist(), again[1].tolist())
    assert places.tolist() == sorted(set(places.tolist()))
    assert not IS_CONTROL[tokens[places]].any()
    elsewhere = np.delete(np.arange(len(tokens)), places)
    assert (damaged[elsewhere] == tokens[elsewhere]).all()
    put_in = damaged[places]
    assert ((put_in == MASK) | ~IS_CONTROL[put_in]).all()
    expected = share_of(int((~IS_CONTROL[tokens]).sum()), rate)
    assert len(places) == expected or (whole_words and bool(expected) == bool(len(places)))


def test_of_what_is_chosen_eight_in_ten_are_hidden_one_is_another_one_stays():
    tokens = np.full(200, 500, np.uint16)
    counts = np.zeros(3, int)
    others: list[int] = []
    for index in range(300):
        damaged, places = corruption.mask_words(tokens, draws(1, 0, index), ALPHABET, rate=0.15)
        assert len(places) == 30
        put_in = damaged[places]
        counts += [(put_in == MASK).sum(), (put_in == 500).sum(), 0]
        others += put_in[(put_in != MASK) & (put_in != 500)].tolist()
    n = 30 * 300
    assert within(counts[0], n, 0.8)
    assert within(len(others), n, 0.1 * (1 - 1 / 992))  # a drawn token may be the same again
    assert within(counts[1], n, 0.1 + 0.1 / 992)
    assert min(others) >= CONTROL
    assert within(sum(other < 504 for other in others), len(others), 0.5)


def test_every_place_is_as_likely():
    counts = np.zeros(40, int)
    for index in range(2000):
        _, places = corruption.mask_words(distinct(40), draws(7, index), ALPHABET, rate=0.15)
        counts[places] += 1
    assert all(within(count, 2000, 6 / 40) for count in counts)


@given(n=st.integers(1, 60), key=KEYS)
def test_whole_words_are_hidden_whole_and_fill_the_number(n, key):
    tokens = distinct(n)
    begins = ALPHABET.begins_word[tokens].copy()
    begins[0] = True
    word = np.cumsum(begins) - 1
    settings = {"rate": 0.3, "whole_words": True}
    _, places = corruption.mask_words(tokens, draws(*key), ALPHABET, **settings)
    chosen = set(word[places].tolist())
    assert len(places) == np.isin(word, list(chosen)).sum()
    left = share_of(n, 0.3) - len(places)
    sizes = np.bincount(word)
    if left >= 0:
        assert all(sizes[other] > left for other in set(word.tolist()) - chosen)
    else:  # none fits: one of the shortest
        assert (len(chosen), len(places)) == (1, sizes.min())
        assert sizes.min() > share_of(n, 0.3)


def test_a_word_ends_at_a_control_token():
    is_start = np.zeros(SIZE, bool)
    alphabet = Alphabet(IS_CONTROL, is_start, MASK)
    tokens = np.array([10, 11, 3, 12], np.uint16)
    found = set()
    for index in range(20):
        _, places = corruption.mask_words(
            tokens, draws(index), alphabet, rate=0.3, whole_words=True
        )
        found.add(tuple(places.tolist()))
    assert found == {(3,)}


# Pairs of sentences


def test_a_passage_is_cut_where_a_sentence_begins():
    begins = np.array([1, 0, 0, 1, 0, 2, 0])
    found = [corruption.pair_border(begins, draws(index)) for index in range(1000)]
    assert set(found) == {3, 5}
    assert within(found.count(3), 1000, 0.5)


@pytest.mark.parametrize(("n", "border"), [(0, 0), (1, 0), (2, 1), (3, 1), (8, 4)])
def test_a_passage_of_one_sentence_is_cut_in_the_middle(n, border):
    assert corruption.pair_border(np.arange(n) == 0, draws(1)) == border


# Noise of BART


@given(n=LENGTHS, key=KEYS, data=st.data())
def test_permuted_sentences_are_the_same_sentences(n, key, data):
    begins = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool)
    found = corruption.permute_sentences(distinct(n), begins, draws(*key))
    starts = sorted({0, *np.flatnonzero(begins).tolist()}) if n else []
    sentences = [s.tolist() for s in np.split(distinct(n), starts[1:])]
    rest, order = found.tolist(), []
    while rest:
        sentence = next(s for s in sentences if s[:1] == rest[:1])
        assert rest[: len(sentence)] == sentence
        order.append(sentence)
        rest = rest[len(sentence) :]
    assert sorted(order) == [s for s in sentences if s]


def test_every_order_of_sentences_is_as_likely():
    tokens, begins = np.array([10, 11, 12, 13]), np.array([1, 0, 1, 1])
    found = [
        tuple(corruption.permute_sentences(tokens, begins, draws(index))) for index in range(1200)
    ]
    assert len(set(found)) == 6
    assert all(within(found.count(order), 1200, 1 / 6) for order in set(found))


@given(n=LENGTHS, key=KEYS, rate=RATES)
def test_masking_and_deleting_tokens(n, key, rate):
    tokens = distinct(n)
    hidden = corruption.mask_tokens(tokens, draws(*key), MASK, rate)
    assert (hidden == MASK).sum() == share_of(n, rate)
    assert ((hidden == MASK) | (hidden == tokens)).all()
    left = corruption.delete_tokens(tokens, draws(*key), rate).tolist()
    assert len(left) == n - share_of(n, rate)
    assert left == sorted(set(left) & set(tokens.tolist()))


@given(n=LENGTHS, key=KEYS, rate=RATES, mean=st.floats(0.5, 8))
def test_infilling_accounts_for_all_that_is_gone(n, key, rate, mean):
    tokens = distinct(n)
    found = corruption.infill(tokens, draws(*key), MASK, rate, mean)
    again = corruption.infill(tokens, draws(*key), MASK, rate, mean)
    assert found.dtype == tokens.dtype
    assert found.tolist() == again.tolist()
    is_mask = found == MASK
    kept = found[~is_mask]
    assert n - len(kept) == share_of(n, rate)
    assert len(found) <= n
    # What is kept stands in order, and every gap in it has exactly one mask.
    before, masks = CONTROL - 1, 0
    for token in [*found.tolist(), CONTROL + n]:
        if token == MASK:
            masks += 1
            assert masks == 1
        else:
            assert token > before
            assert masks or token == before + 1
            before, masks = token, 0


def test_spans_are_poisson_with_those_of_no_length():
    lengths = []
    for index in range(300):
        found = corruption.infill(distinct(400), draws(3, index), MASK, 0.3, 3.0)
        edges = np.flatnonzero(found == MASK)
        around = np.concatenate([[CONTROL - 1], found, [CONTROL + 400]]).astype(int)
        lengths += (around[edges + 2] - around[edges] - 1).tolist()
    n = len(lengths)
    assert n == pytest.approx(300 * 120 / 3, rel=0.03)
    assert within(lengths.count(0), n, np.exp(-3))
    assert within(lengths.count(1), n, 3 * np.exp(-3) + 0.005)  # last ones are cut to fit
    assert np.mean(lengths) == pytest.approx(3, abs=0.1)


# Spans of T5


def restored(damaged: np.ndarray, target: np.ndarray) -> list[int]:
    """The text of which both were made."""
    spans: dict[int, list[int]] = {}
    for token in target.tolist():
        if token in SENTINELS:
            last = spans.setdefault(token, [])
        else:
            last.append(token)
    return [
        token
        for place in damaged.tolist()
        for token in (spans[place] if place in SENTINELS else [place])
    ]


@given(tokens=st.lists(st.integers(CONTROL, SIZE - 1), max_size=60), key=KEYS, rate=RATES)
def test_input_and_target_of_spans_give_back_the_text(tokens, key, rate):
    text = np.array(tokens, np.uint16)
    damaged, target = corruption.corrupt_spans(text, draws(*key), SENTINELS, rate, 3.0)
    again = corruption.corrupt_spans(text, draws(*key), SENTINELS, rate, 3.0)
    assert [part.tolist() for part in again] == [damaged.tolist(), target.tolist()]
    assert damaged.dtype == target.dtype == text.dtype
    assert restored(damaged, target) == tokens
    n_gone = share_of(len(tokens), rate)
    used = [token for token in damaged.tolist() if token in SENTINELS]
    assert used == [token for token in target.tolist() if token in SENTINELS]
    assert used == list(SENTINELS[: len(used)])
    assert len(target) == n_gone + len(used)
    wished = max(1, int(n_gone / 3.0 + 0.5))
    room = len(tokens) - n_gone + 1
    assert len(used) == (min(wished, len(SENTINELS), room) if n_gone else 0)
    # No two spans touch, and none is empty.
    assert all(a not in SENTINELS or b not in SENTINELS for a, b in pairwise(damaged))
    assert all(a not in SENTINELS or b not in SENTINELS for a, b in pairwise(target))


def test_the_only_token_is_a_span():
    damaged, target = corruption.corrupt_spans(distinct(1), draws(1), SENTINELS, 0.15, 3.0)
    assert (damaged.tolist(), target.tolist()) == ([5], [5, CONTROL])


def test_every_arrangement_of_spans_is_as_likely():
    found = [
        tuple(corruption.corrupt_spans(distinct(5), draws(index), SENTINELS, 0.4, 1.0)[0].tolist())
        for index in range(1200)
    ]
    assert len(set(found)) == 6  # two gaps of the four around the three that are kept
    assert all(within(found.count(arrangement), 1200, 1 / 6) for arrangement in set(found))


# The mixture of UniLM


def test_patterns_by_their_shares():
    shares = (0.5, 0.2, 0.3)
    found = [corruption.draw_pattern(draws(5, index), shares) for index in range(5000)]
    for number, share in enumerate(shares):
        assert within(found.count(number), 5000, share)
    assert {corruption.draw_pattern(draws(i), (0, 0, 1)) for i in range(50)} == {2}
    assert {corruption.draw_pattern(draws(i), (1, 0, 0)) for i in range(50)} == {0}


@given(key=KEYS, other=KEYS)
def test_keys_decide(key, other):
    assume(key != other)
    assert draws(*key).integers(1 << 62) != draws(*other).integers(1 << 62)

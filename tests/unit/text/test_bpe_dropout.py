"""BPE dropout: the library's cuts when nothing drops, bytes when all does, the same for a key."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.text import Tokenizer, TokenizerConfig, train_tokenizer
from headway.text.bpe_dropout import BpeDropout

TEXTS = ["the newest and lowest of the widest rivers", "der neueste und tiefste der Flüsse"] * 4


def train(dropout: float) -> Tokenizer:
    return train_tokenizer(TEXTS, TokenizerConfig(dropout=dropout))


@pytest.fixture(scope="module")
def half() -> Tokenizer:
    return train(0.5)


@pytest.fixture(scope="module")
def hardly() -> Tokenizer:
    return train(1e-12)


@settings(max_examples=150, deadline=None)
@given(
    text=st.one_of(
        st.text(st.sampled_from("the nwsdrivolü "), max_size=60),
        st.text(st.characters(exclude_categories=["Cs"])),
    )
)
def test_without_drops_it_is_the_librarys_cut(hardly, text):
    assert hardly.encode_random(text, 0) == hardly.encode(text)


@settings(max_examples=50, deadline=None)
@given(
    text=st.text(st.characters(exclude_categories=["Cs"])),
    seed=st.integers(),
    epoch=st.integers(0, 9),
)
def test_any_draw_gives_the_text_back(half, text, seed, epoch):
    ids = half.encode_random(text, seed, epoch)
    assert half.decode(ids) == text
    assert half.encode_random(text, seed, epoch) == ids


def test_merges_are_made_in_the_order_they_were_learned(hardly):
    words = " ".join(TEXTS[:2]).split()
    texts = [*TEXTS, *(a + b for a in words for b in words), *(a[1:] + a for a in words)]
    assert [hardly.encode_random(text, 0) for text in texts] == hardly.encode_batch(texts)


def test_the_order_of_learning_beats_the_order_of_reading():
    vocabulary = {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4}
    cutter = BpeDropout(vocabulary, [("b", "c"), ("a", "b")], rate=0.0)
    assert cutter.cut("abc", random.Random(0)) == (0, 4)


def test_the_key_decides_not_the_history(half):
    first = [half.encode_random(TEXTS[0], 1, epoch, 7) for epoch in range(20)]
    fresh = train(0.5)
    again = [fresh.encode_random(TEXTS[0], 1, epoch, 7) for epoch in reversed(range(20))][::-1]
    assert first == again
    assert len({tuple(ids) for ids in first}) > 10
    assert half.encode_random(TEXTS[0], 1, 2) != half.encode_random(TEXTS[0], 12)


def test_plain_encoding_never_drops(half):
    assert half.encode(TEXTS[0]) == train(0.0).encode(TEXTS[0])
    assert half.encode_batch([TEXTS[0]] * 3) == [half.encode(TEXTS[0])] * 3


def test_without_dropout_in_the_settings_it_is_encode():
    tokenizer = train(0.0)
    assert tokenizer.encode_random(TEXTS[0], 1) == tokenizer.encode(TEXTS[0])
    words = train_tokenizer(TEXTS, TokenizerConfig(kind="words"))
    assert words.encode_random(TEXTS[0], 1) == words.encode(TEXTS[0])


def test_probabilities_are_those_of_the_paper():
    # "abc" with merges a+b, then ab+c, then b+c. With p = 0.5: the first step makes ab with 1/2,
    # bc with 1/4 and stops with 1/4; ab then becomes abc with 1/2. From bc nothing follows.
    vocabulary = {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4, "bc": 5}
    cutter = BpeDropout(vocabulary, [("a", "b"), ("ab", "c"), ("b", "c")], rate=0.5)
    rng = random.Random(0)
    n = 4000
    seen = Counter(cutter.cut("abc", rng) for _ in range(n))
    assert set(seen) == {(4,), (3, 2), (0, 5), (0, 1, 2)}
    for outcome in seen:
        assert abs(seen[outcome] / n - 0.25) < 0.03  # over four standard deviations


def test_long_words_are_not_remembered():
    cutter = BpeDropout({"a": 0, "aa": 1}, [("a", "a")], rate=0.1)
    assert sum(cutter.cut("a" * 500, random.Random(0))) > 200
    assert max(map(len, cutter._candidates), default=0) <= 32

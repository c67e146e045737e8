"""Whole words in several scripts, and at the end of a text that may continue."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.text.word_matching import contains, find, is_word_boundary


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("der Hund bellt", "Hund"),
        ("Hund", "Hund"),
        ("(Hund)", "Hund"),
        ("Hund-Futter", "Hund"),
        ("Hunde, Hund", "Hund"),  # not the first occurrence, but the second
        ("l'homme", "homme"),
        ("Größe 5.", "5"),
        ("New  York\tCity", "New York"),
        ("z.B. hier", "z.B."),
        ("so z.B.hier", "z.B."),  # no word ends at the dot, so none can be cut
        ("100 %", "%"),
        ("эта собака лает", "собака"),
        ("رأيت كلب كبير", "كلب"),
        ("यह हिन्दी है", "हिन्दी"),
        ("他喜欢猫吗", "猫"),
        ("使用Python编程", "Python"),  # a word among characters that need no spaces
        ("ネコが好き", "ネコ"),
        ("ผมรักแมวมาก", "แมว"),
        ("한국어 문장", "한국어"),
        ("x naïve y", unicodedata.normalize("NFD", "naïve")),
    ],
)
def test_it_is_contained(text, term):
    assert contains(text, term)


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("die Hunde bellen", "Hund"),
        ("ein Windhund", "hund"),
        ("Bernhardinerhund.", "hund"),
        ("der hund", "Hund"),
        ("Hund_1", "Hund"),
        ("Hund2", "Hund"),
        ("2500", "5"),
        ("New-York", "New York"),
        ("NewYork", "New York"),
        ("эти собаки лают", "собак"),
        ("الكلب كبير", "كلب"),  # the article is written on to the noun
        ("हिन्दी", "हिन्द"),  # a vowel sign follows
        ("हिन्दी", "हिन"),  # a virama follows
        ("กี", "ก"),  # a vowel sign again, in a script without spaces
        ("น้ำ", "น"),
        ("한국어를", "한국어"),
        ("Hund\u0308", "Hund"),  # a mark on the last letter
        ("", "Hund"),
        ("Hund", ""),
        ("Hund", "  "),
        ("Hu", "Hund"),
    ],
)
def test_it_is_not_contained(text, term):
    assert not contains(text, term)


def test_all_occurrences_in_order():
    assert list(find("ab ab,abab ab", "ab")) == [(0, 2), (3, 5), (11, 13)]
    assert list(find("猫猫", "猫")) == [(0, 1), (1, 2)]
    assert list(find("a a a", "a a")) == [(0, 3), (2, 5)]


@pytest.mark.parametrize(
    ("text", "certain"),
    [
        ("der Hund ", True),
        ("der Hund.", True),
        ("der Hund", False),  # "der Hunde" may come of it
        ("Hund und Hund", True),
        ("der Hund\ufffd", False),  # the first byte of a letter, perhaps
        ("der Hund\ufffd\ufffd", False),
        ("der Hund \ufffd", True),
    ],
)
def test_at_the_end_of_a_text_that_may_continue(text, certain):
    assert contains(text, "Hund")
    assert contains(text, "Hund", ended=False) == certain


def test_signs_at_the_end_are_certain_at_once():
    assert contains("so z.B.", "z.B.", ended=False)
    assert not contains("他喜欢猫", "猫", ended=False)  # a mark could follow
    assert contains("他喜欢猫吗", "猫", ended=False)


@pytest.mark.parametrize(
    ("before", "apart", "together"),
    [
        ("", False, True),
        ("der ", False, True),
        ("der", True, False),
        ("Ende.", True, False),
        ("(", True, True),
        ("l'", True, True),
        ("使用", True, True),
        ("喜欢。", True, True),
    ],
)
def test_word_boundaries_for_words(before, apart, together):
    assert is_word_boundary(before, f"{before} Hund") == apart
    assert is_word_boundary(before, f"{before}Hund") == together


def test_word_boundaries_for_signs():
    assert is_word_boundary("喜欢", "喜欢猫")
    assert is_word_boundary("喜欢。", "喜欢。猫")
    assert not is_word_boundary("喜欢", "喜欢 猫")
    assert not is_word_boundary("喜欢。", "喜欢。 猫")
    assert is_word_boundary("cats (", "cats ( 猫")
    assert is_word_boundary("100", "100%")
    assert is_word_boundary("100", "100 %")
    assert not is_word_boundary("der", "der ")


words = st.text(st.sampled_from("abä é१猫ก."), max_size=6)


@given(words, words, words)
def test_a_certain_match_stays_whatever_follows(text, term, more):
    if contains(text, term, ended=False):
        assert contains(text, term)
        assert contains(text + more, term)


@given(words, st.text(st.sampled_from("abéж"), min_size=1, max_size=4))
def test_every_term_between_spaces_is_contained(text, term):
    assert contains(f"{text} {term} {text}", term)
    assert not contains(f"x{term}", term)
    assert not contains(f"{term}x", term)

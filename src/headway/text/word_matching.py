"""Whole words in text: where a term stands as words of its own, not as a part of longer ones.

What joins two characters into one word is a matter of Unicode: letters, marks, numbers and the
underscore do, in scripts that put spaces between words. Nothing here knows tokens.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache

# First and last code points of scripts that write words without spaces between them: there a term
# may begin and end anywhere. Thai, Lao, Myanmar, Khmer, then Han with kana, bopomofo and the signs
# that are written with them.
_UNSPACED = (
    (0x0E01, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x19E0, 0x19FF),
    (0x2E80, 0x2FDF),
    (0x3001, 0x312F),
    (0x31A0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xA9E0, 0xA9FF),
    (0xAA60, 0xAA7F),
    (0xF900, 0xFAFF),
    (0xFF01, 0xFF0F),
    (0xFF1A, 0xFF20),
    (0xFF61, 0xFF9F),
    (0x16FF0, 0x16FFF),
    (0x1AFF0, 0x1B16F),
    (0x20000, 0x3FFFD),
)
_STARTS = [first for first, _ in _UNSPACED]
_PARTIAL = "\ufffd"  # stands for bytes that are not a whole character, or not yet one


def contains(text: str, term: str, ended: bool = True) -> bool:
    """Whether `term` stands in `text` as whole words; see `find`."""
    return next(find(text, term, ended), None) is not None


def find(text: str, term: str, ended: bool = True) -> Iterator[tuple[int, int]]:
    """Start and end of every place where `term` stands in `text` as whole words, in order.

    "Hund" stands in "der Hund." and in "Hund-Futter", not in "Hunde" or "Windhund"; "猫" stands in
    "他喜欢猫吗". Case matters, runs of white space count as one space, and letters with accents are
    the same however Unicode composes them: the places are those in `normal(text)`.

    Args:
        ended: False if more text may follow: what stands at the very end is then not certain to
            be a whole word and is left out.
    """
    text = normal(text)
    pattern = _pattern(normal(term))
    if pattern is None:
        return
    if not ended:
        text = text.rstrip(_PARTIAL)
    match = pattern.search(text)
    while match:
        if _stands_alone(text, match.start(), match.end(), ended):
            yield match.span()
        match = pattern.search(text, match.start() + 1)


def is_word_boundary(before: str, after: str) -> bool:
    """Whether the words that make `before` into `after` are set apart as people write them.

    One space stands between words, none at the start of a text or after a space. After an opening
    bracket, an apostrophe or before a sign either will do. Scripts without spaces get none.
    """
    added = after[len(before) :]
    word = added.lstrip()
    if not word:
        return False
    has_space = added != word
    if not before or before[-1].isspace():
        return not has_space
    last, first = before[-1], word[0]
    if _is_unspaced(first):
        return not has_space or last.isascii()
    takes_both = _is_unspaced(last) or unicodedata.category(last) in ("Ps", "Pi") or last in "'’"
    return has_space or takes_both or not is_word_character(first)


def normal(text: str, ignore_case: bool = False) -> str:
    """The text as terms are compared: letters and accents composed, capitals kept or not."""
    return unicodedata.normalize("NFC", text.casefold() if ignore_case else text)


def _stands_alone(text: str, start: int, end: int, ended: bool) -> bool:
    if start and _joins(text[start - 1]) and _joins(text[start]):
        return False
    last = text[end - 1]
    if end == len(text):
        return ended or not is_word_character(last)
    if not is_word_character(last):
        return True
    # A mark changes the letter before it, in every script.
    is_mark = unicodedata.category(text[end]).startswith("M")
    return not is_mark and not (_joins(last) and _joins(text[end]))


@lru_cache(maxsize=65536)
def is_word_character(character: str) -> bool:
    """Letters, marks, numbers and connecting punctuation such as the underscore."""
    category = unicodedata.category(character)
    return category[0] in "LMN" or category == "Pc"


@lru_cache(maxsize=65536)
def _joins(character: str) -> bool:
    """Whether it makes one word with its like beside it."""
    return is_word_character(character) and not _is_unspaced(character)


def _is_unspaced(character: str) -> bool:
    """Whether it belongs to a script that puts no spaces between words, signs included."""
    code = ord(character)
    place = bisect_right(_STARTS, code) - 1
    return place >= 0 and code <= _UNSPACED[place][1]


@lru_cache(maxsize=65536)
def _pattern(term: str) -> re.Pattern[str] | None:
    """Finds the term with any white space between its words; None if it has no words."""
    words = term.split()
    return re.compile(r"\s+".join(map(re.escape, words))) if words else None

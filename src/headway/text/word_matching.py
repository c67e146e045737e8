"""Finds terms in text as whole words, not as parts of longer words.

Unicode decides which characters form a word: letters, marks, numbers and the underscore, in scripts
with spaces between words. Nothing here knows tokens.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache

# First and last code points of scripts without spaces between words, in which a term may start and
# end anywhere: Thai, Lao, Myanmar, Khmer, then Han with kana, bopomofo and the signs that are used
# with them.
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
_PARTIAL = "\ufffd"  # replaces bytes that are not, or not yet, a whole character


def contains(text: str, term: str, ended: bool = True) -> bool:
    """Whether `text` contains `term` as whole words; see `find`."""
    return next(find(text, term, ended), None) is not None


def find(text: str, term: str, ended: bool = True) -> Iterator[tuple[int, int]]:
    """Yields start and end of every occurrence of `term` in `text` as whole words, in order.

    "Hund" occurs in "der Hund." and in "Hund-Futter", not in "Hunde" or "Windhund"; "猫" occurs in
    "他喜欢猫吗". Case matters, a run of white space equals a space, and letters with accents are
    equal in every Unicode composition: positions are those in `normal(text)`.

    Args:
        ended: False if more text may follow: an occurrence at the very end may then not be a whole
            word, and is left out.
    """
    text = normal(text)
    pattern = _pattern(normal(term))
    if pattern is None:
        return
    if not ended:
        text = text.rstrip(_PARTIAL)
    match = pattern.search(text)
    while match:
        if _is_whole_word(text, match.start(), match.end(), ended):
            yield match.span()
        match = pattern.search(text, match.start() + 1)


def is_word_boundary(before: str, after: str) -> bool:
    """Whether the words that extend `before` to `after` are spaced as in ordinary text.

    There is a space between words, and none at the start of a text or after a space. After an
    opening bracket or an apostrophe, or before a sign, both are allowed. Scripts without spaces
    have none.
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
    allows_both = _is_unspaced(last) or unicodedata.category(last) in ("Ps", "Pi") or last in "'’"
    return has_space or allows_both or not is_word_character(first)


def normal(text: str, ignore_case: bool = False) -> str:
    """The text in the form in which terms are compared: NFC, case-folded if `ignore_case`."""
    return unicodedata.normalize("NFC", text.casefold() if ignore_case else text)


def _is_whole_word(text: str, start: int, end: int, ended: bool) -> bool:
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
    """Whether it is a letter, mark, number or connecting punctuation such as the underscore."""
    category = unicodedata.category(character)
    return category[0] in "LMN" or category == "Pc"


@lru_cache(maxsize=65536)
def _joins(character: str) -> bool:
    """Whether two such characters side by side are in the same word."""
    return is_word_character(character) and not _is_unspaced(character)


def _is_unspaced(character: str) -> bool:
    """Whether it belongs to a script without spaces between words, signs included."""
    code = ord(character)
    index = bisect_right(_STARTS, code) - 1
    return index >= 0 and code <= _UNSPACED[index][1]


@lru_cache(maxsize=65536)
def _pattern(term: str) -> re.Pattern[str] | None:
    """Matches the term with any white space between its words; None if it has no words."""
    words = term.split()
    return re.compile(r"\s+".join(map(re.escape, words))) if words else None

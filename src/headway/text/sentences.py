"""Sentence splitting by a simple rule, which knows no abbreviations.

A sentence ends at a line break; after one of . ! ? … and any closing quotation marks and brackets,
if white space and then no lower-case letter follow; and after 。！？, with or without white space.
A full stop after a single capital letter (J. R. R. Tolkien, the U.S. Army) does not end a sentence.
Lines of a text with a sentence per line are therefore never joined, but may be split further.
"""

import re
from collections.abc import Iterator

_CANDIDATE = re.compile(r"[.!?…][\"'”’»)\]]*(?=\s)|[。！？][”’」』）》]*|\S(?=\s*\n)")
_GAP = re.compile(r"\s*")


def sentences(text: str) -> Iterator[str]:
    """Yields the sentences of a text, in order; joined, they are the text.

    White space between two sentences belongs to the second.
    """
    start = 0
    for match in _CANDIDATE.finditer(text):
        if _is_end(text, match.start(), match.end()):
            yield text[start : match.end()]
            start = match.end()
    if start < len(text):
        yield text[start:]


def _is_end(text: str, sign: int, end: int) -> bool:
    """Whether a sentence ends before `end`; its last sign may be at `sign`."""
    gap = _GAP.match(text, end)
    assert gap is not None
    following = text[gap.end() : gap.end() + 1]
    if not following:
        return False  # the end of the text
    if "\n" in gap.group() or not gap.group():
        return True
    return not following.islower() and not _is_initial(text, sign)


def _is_initial(text: str, sign: int) -> bool:
    """Whether the sign is a full stop after a single capital letter."""
    if text[sign] != "." or not sign or not text[sign - 1].isupper():
        return False
    return sign == 1 or not text[sign - 2].isalnum()

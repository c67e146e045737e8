"""Where sentences end: a simple rule, which knows no abbreviations.

A sentence ends at a line break; behind one of . ! ? … and whatever closes (quotation marks,
brackets), where white space and then no small letter follow; and behind 。！？, with or without
white space. A full stop behind a single capital letter (J. R. R. Tolkien, the U.S. Army) ends none.
A text with one sentence in each line is thus taken as it is, or its lines in smaller parts.
"""

import re
from collections.abc import Iterator

_CANDIDATE = re.compile(r"[.!?…][\"'”’»)\]]*(?=\s)|[。！？][”’」』）》]*|\S(?=\s*\n)")
_GAP = re.compile(r"\s*")


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, in order; together they are the text.

    White space between two belongs to the second one.
    """
    start = 0
    for match in _CANDIDATE.finditer(text):
        if _is_end(text, match.start(), match.end()):
            yield text[start : match.end()]
            start = match.end()
    if start < len(text):
        yield text[start:]


def _is_end(text: str, sign: int, end: int) -> bool:
    """Whether a sentence ends before `end`, where the last sign of one may stand at `sign`."""
    gap = _GAP.match(text, end)
    assert gap is not None
    following = text[gap.end() : gap.end() + 1]
    if not following:
        return False  # it is the end of all
    if "\n" in gap.group() or not gap.group():
        return True
    return not following.islower() and not _is_initial(text, sign)


def _is_initial(text: str, sign: int) -> bool:
    """Whether the sign is a full stop behind a capital letter that stands alone."""
    if text[sign] != "." or not sign or not text[sign - 1].isupper():
        return False
    return sign == 1 or not text[sign - 2].isalnum()

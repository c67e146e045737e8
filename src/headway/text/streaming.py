"""Detokenization of a stream of tokens."""

import codecs

from .tokenizer import Tokenizer


class StreamingDetokenizer:
    """Decodes tokens one at a time, in whole characters.

    A token may be a part of a character: it adds no text until the character is complete, or can no
    longer be completed.

    Args:
        at_start: whether no token precedes the first one.
        opening: bytes at the end of the preceding text that the tokens repeat.
    """

    def __init__(self, tokenizer: Tokenizer, at_start: bool, opening: bytes = b"") -> None:
        self._spellings = tokenizer.spellings()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        has_space = at_start and (tokenizer.prepends_space or tokenizer.splits_at_spaces)
        self._omitted = opening or (b" " if has_space else b"")

    def add(self, token: int) -> str:
        """The text that is complete with this token; may be empty."""
        added = self._spellings[token]
        if added and self._omitted:
            added, self._omitted = added.removeprefix(self._omitted), b""
        return self._decoder.decode(added)

    def end(self) -> str:
        """The replacement for a character that stays incomplete; may be empty."""
        return self._decoder.decode(b"", final=True)

"""The text of tokens that come one after the other, for those who want to read along."""

import codecs

from .tokenizer import Tokenizer


class StreamingDetokenizer:
    """What each token adds to a text, in whole characters.

    A token may be a part of a character: nothing is told of it until the character is complete, or
    can no longer become so.

    Args:
        begins: whether no token stands before the first.
        opening: bytes that the tokens repeat of the text before them.
    """

    def __init__(self, tokenizer: Tokenizer, begins: bool, opening: bytes = b"") -> None:
        self._spellings = tokenizer.spellings()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        has_space = begins and (tokenizer.puts_space or tokenizer.parts_words)
        self._left_out = opening or (b" " if has_space else b"")

    def add(self, token: int) -> str:
        """What is complete with this token, perhaps nothing."""
        written = self._spellings[token]
        if written and self._left_out:
            written, self._left_out = written.removeprefix(self._left_out), b""
        return self._decoder.decode(written)

    def end(self) -> str:
        """What stands for a character that stays incomplete."""
        return self._decoder.decode(b"", final=True)

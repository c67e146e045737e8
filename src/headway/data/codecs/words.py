"""The codec of sentences that are already split into words, such as those of tagging.

The tokenizer may split a word further: each token has the number of its word, and the tag of a word
is predicted at its first token.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..store import Column
from .codec import WrittenCodec
from .text import TextCodec

MARK = -1
"""The word number of special tokens."""


class WordsCodec(WrittenCodec):
    """Sentences of words separated by white space, as tokens with word numbers.

    Every word has at least one token: a word that tokenizes to nothing becomes the unknown token.

    Args:
        codec: a codec of encoder inputs.
    """

    def __init__(self, codec: TextCodec) -> None:
        self.codec = codec

    @property
    def marks(self) -> int:
        return self.codec.marks

    def column(self, name: str) -> Column:
        return Column(name, "int32", (2,))

    def clean(self, text: str) -> str:
        return " ".join(self.codec.clean(text).split())

    def encode_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
        return [self.encode(text.split()) for text in texts]

    def encode(self, words: Sequence[str]) -> np.ndarray:
        """Tokens and their word numbers, special tokens included. Shape: (n, 2)."""
        return self._framed(*self.codec.tokenizer.encode_words(words), len(words))

    def redraw(self, values: np.ndarray, key: tuple[int, ...]) -> np.ndarray:
        """An encoding of the same words with another segmentation, drawn by the key."""
        tokenizer = self.codec.tokenizer
        ids: list[int] = []
        words: list[int] = []
        for word, pieces in enumerate(pieces_of(values)):
            drawn = tokenizer.encode_random(tokenizer.decode(pieces.tolist()), *key, word)
            ids += drawn
            words += [word] * len(drawn)
        return self._framed(ids, words, n_words(values))

    def _framed(self, ids: Sequence[int], words: Sequence[int], n: int) -> np.ndarray:
        missing = sorted(set(range(n)) - set(words))
        positions = np.searchsorted(words, missing)
        numbers = np.insert(np.array(words, np.int32), positions, missing)
        framed = self.codec.single(np.insert(np.array(ids, np.int32), positions, self.codec.unk))
        encoded = np.full((len(framed), 2), MARK, np.int32)
        encoded[:, 0] = framed
        start = int(self.codec.begins)
        encoded[start : start + len(numbers), 1] = numbers
        return encoded

    def decode(self, values: Sequence[Any] | np.ndarray) -> str:
        ids = np.array(values, np.int32).reshape(-1, 2)[:, 0]
        return self.codec.decode(ids.tolist())

    def complaint(self, text: str) -> str | None:
        """None: a sentence without words is blank, and blank rows are dropped."""
        return None

    def fingerprint(self) -> str:
        content = f"words {self.codec.fingerprint()}"
        return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def n_words(values: np.ndarray) -> int:
    """Number of words of an encoded sentence."""
    return int(values[:, 1].max(initial=MARK)) + 1


def first_tokens(values: np.ndarray) -> np.ndarray:
    """The positions of the first token of each word. Shape: (n, 2) -> (words,)."""
    words = values[:, 1]
    return np.flatnonzero((words != MARK) & (np.diff(words, prepend=MARK) != 0))


def pieces_of(values: np.ndarray) -> list[np.ndarray]:
    """The tokens of each word."""
    inside = values[values[:, 1] != MARK]
    return np.split(inside[:, 0], np.flatnonzero(np.diff(inside[:, 1])) + 1) if len(inside) else []

"""The codec of sentences that are cut into words already, as those whose words have tags.

The tokenizer may cut a word further: each token remembers its word, and the first one of a word is
where its tag is told.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from headway.data.codecs import TextCodec
from headway.data.store import Column

MARK = -1
"""The word of a token that belongs to none."""


class WordsCodec:
    """Sentences, words with white space between them, as tokens with the numbers of their words.

    Every word has at least one token: what the tokenizer leaves nothing of is unknown.

    Args:
        codec: of texts that are only read.
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
        """Tokens and their words, marks included. Shape: (n, 2)."""
        return self._around(*self.codec.tokenizer.encode_words(words), len(words))

    def redraw(self, values: np.ndarray, key: tuple[int, ...]) -> np.ndarray:
        """The same words under another segmentation, which the key decides."""
        tokenizer = self.codec.tokenizer
        ids: list[int] = []
        words: list[int] = []
        for word, pieces in enumerate(pieces_of(values)):
            drawn = tokenizer.encode_random(tokenizer.decode(pieces.tolist()), *key, word)
            ids += drawn
            words += [word] * len(drawn)
        return self._around(ids, words, n_words(values))

    def _around(self, ids: Sequence[int], words: Sequence[int], n: int) -> np.ndarray:
        missing = sorted(set(range(n)) - set(words))
        places = np.searchsorted(words, missing)
        numbers = np.insert(np.array(words, np.int32), places, missing)
        framed = self.codec.single(np.insert(np.array(ids, np.int32), places, self.codec.unk))
        found = np.full((len(framed), 2), MARK, np.int32)
        found[:, 0] = framed
        start = int(self.codec.begins)
        found[start : start + len(numbers), 1] = numbers
        return found

    def decode(self, values: Sequence[Any] | np.ndarray) -> str:
        ids = np.array(values, np.int32).reshape(-1, 2)[:, 0]
        return self.codec.decode(ids.tolist())

    def complaint(self, text: str) -> str | None:
        """A sentence without words is a blank, which is left out."""
        return None

    def fingerprint(self) -> str:
        content = f"words {self.codec.fingerprint()}"
        return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def n_words(values: np.ndarray) -> int:
    """How many words a sentence has."""
    return int(values[:, 1].max(initial=MARK)) + 1


def first_tokens(values: np.ndarray) -> np.ndarray:
    """The places of the first token of each word. Shape: (n, 2) -> (words,)."""
    words = values[:, 1]
    return np.flatnonzero((words != MARK) & (np.diff(words, prepend=MARK) != 0))


def pieces_of(values: np.ndarray) -> list[np.ndarray]:
    """The tokens of each word."""
    inside = values[values[:, 1] != MARK]
    return np.split(inside[:, 0], np.flatnonzero(np.diff(inside[:, 1])) + 1) if len(inside) else []

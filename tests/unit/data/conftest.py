import json

import pytest

from headway.text import SpecialTokenTemplate


class WordTokenizer:
    """Words by their place in a fixed list, after four control ids; anything else is unknown."""

    frame = SpecialTokenTemplate()
    specials = {"pad": 0, "bos": 1, "eos": 2, "unk": 3}  # noqa: RUF012

    def __init__(self, words: str, size: int | None = None) -> None:
        self._words = words.split()
        self.size = size or len(self._words) + 4

    def clean(self, text):
        return text.lower()

    def encode_batch(self, texts):
        known = {word: i + 4 for i, word in enumerate(self._words)}
        return [[known.get(word, 3) for word in text.split()] for text in texts]

    def decode(self, ids, unknown=""):
        return " ".join(self._words[i - 4] for i in ids)

    def to_json(self):
        return json.dumps(self._words)


@pytest.fixture
def word_tokenizer():
    return WordTokenizer

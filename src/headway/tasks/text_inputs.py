"""The input of `classify` and `regress`: a text, or a pair of texts encoded as one sequence."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from ..data.codecs.codec import Codec
from ..data.codecs.text import TextCodec, TextConfig, fit_codec
from ..data.collate import collate_sources, source_batch
from ..data.store import Store
from ..errors import DataError
from .base import Rows
from .inputs import Inputs

TOKENIZER, COLUMNS = "tokenizer.json", "texts.json"
Text = str | tuple[str, str]
"""A text, or a pair of texts."""
BOTH = "text and text2"
"""Name of a pair in messages, and of its joint size."""
BETWEEN = "\t"
"""Separates the texts of a pair that is displayed as one text."""


class TextInputs(Inputs):
    """The input texts of a model, with their codec.

    A single text is stored with its special tokens. The texts of a pair are stored separately and
    without special tokens, and joined when a batch is made.

    Args:
        codec: codec of source texts.
        is_pair: whether an example has two texts.
    """

    columns = ("text", "text2")
    noun, plural = "text", "texts"
    codec: TextCodec

    def __init__(self, codec: TextCodec, is_pair: bool) -> None:
        self.codec = codec
        self.n_tokens = codec.tokenizer.size
        self.begin = codec.tokenizer.tokens([codec.tokenizer.specials["bos"]])[0]
        self.is_pair = is_pair
        self.lengths = (BOTH,) if is_pair else ("text",)
        self._plain = TextCodec(codec.tokenizer, ends=False)

    @classmethod
    def fit(cls, rows: Rows, text: TextConfig) -> "TextInputs":
        """Trains the tokenizer on the texts of rows: all columns but the last."""
        n = _n_texts(rows)
        return cls(fit_codec((side for row in rows() for side in row[:n]), text, reads=True), n > 1)

    @classmethod
    def adopt(cls, folder: Path, rows: Rows) -> "TextInputs":
        return cls(TextCodec.load(folder / TOKENIZER, reads=True), _n_texts(rows) > 1)

    @classmethod
    def is_in(cls, folder: Path) -> bool:
        return (folder / TOKENIZER).exists()

    def save(self, folder: Path) -> None:
        """Writes `tokenizer.json` and, for pairs, `texts.json` with the names of their columns."""
        self.codec.save(folder / TOKENIZER)
        if self.is_pair:
            (folder / COLUMNS).write_text(json.dumps(list(self.codecs)) + "\n", "utf-8")

    @classmethod
    def load(cls, folder: Path) -> "TextInputs":
        return cls(TextCodec.load(folder / TOKENIZER, reads=True), (folder / COLUMNS).exists())

    @property
    def codecs(self) -> dict[str, Codec]:
        if self.is_pair:
            return {"text": self._plain, "text2": self._plain}
        return {"text": self.codec}

    def describe(self) -> dict[str, Any]:
        return {"kind": self.codec.tokenizer.settings.kind, "source": self.n_tokens}

    def sizes(self, lengths: Mapping[str, Any]) -> Mapping[str, Any]:
        """See `data.row_rules`: the number of tokens of a pair, special tokens included."""
        if not self.is_pair:
            return lengths
        n_special = len(self.codec.pair([], [])[0])
        return {BOTH: lengths["text"] + lengths["text2"] + n_special}

    def batch(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None = None
    ) -> dict[str, Tensor]:
        """Shape: src, src_valid (B, S); for pairs also segment (B, S)."""
        if draw is None or not self.codec.is_random:
            if not self.is_pair:
                return collate_sources(store, indices, "text")
            return self.tensors([self.stored(store, i) for i in indices])
        return self.tensors([self.stored(store, i, (*draw, int(i))) for i in indices])

    def stored(self, store: Store, index: int, key: tuple[int, ...] | None = None) -> np.ndarray:
        """The encoding of an example; with a key, under the segmentation drawn from it."""
        if not self.is_pair:
            ids = store["text"][index]
            return ids if key is None else self.codec.redraw(ids, key)
        sides = [store[name][index] for name in self.codecs]
        if key is not None:
            sides = [self._plain.redraw(ids, (*key, n)) for n, ids in enumerate(sides)]
        return self._join(sides)

    def to_text(self, store: Store, index: int) -> str:
        sides = [codec.decode(store[name][index].tolist()) for name, codec in self.codecs.items()]
        return BETWEEN.join(sides)

    def title(self, value: Text) -> str:
        return value if isinstance(value, str) else BETWEEN.join(value)

    def element_names(self, encoded: np.ndarray, model: Any) -> list[str]:
        return self.codec.tokenizer.tokens(self.tokens(encoded).tolist())

    def from_text(self, text: str) -> Text | None:
        if not self.is_pair:
            return text
        sides = text.split(BETWEEN)
        return (sides[0], sides[1]) if len(sides) == 2 else None

    def check(self, value: Any, location: str) -> None:
        """Refuses a text where the training data have pairs, and the reverse."""
        is_text, is_listed = isinstance(value, str), isinstance(value, tuple | list)
        n = len(value) if is_listed else int(is_text)
        if n != 1 + self.is_pair or is_text == self.is_pair:
            got = f"{n} texts" if n > 1 else "a single text" if n else "no text"
            expected = "a pair of texts" if self.is_pair else "a single text"
            raise DataError(
                f"{location}: got {got}, expected {expected}, as the training data have"
            )

    def encode(self, texts: Sequence[Text]) -> list[np.ndarray]:
        """The encoding of each input: tokens (n,); for a pair, tokens and segments (n, 2)."""
        if not self.is_pair:
            return self.codec.encode_batch(texts)  # type: ignore[arg-type]
        sides = [self._plain.encode_batch([text[side] for text in texts]) for side in (0, 1)]
        return [self._join(pair) for pair in zip(*sides, strict=True)]

    def truncate(self, text: Text, max_length: int) -> np.ndarray:
        """The truncated encoding of an input; the longer text of a pair is cut first."""
        if not self.is_pair:
            [ids] = self._plain.encode_batch([text])  # type: ignore[list-item]
            return self.codec.single(ids[: max_length - self.codec.marks])
        return self._join(self._plain.encode_batch(list(text)), max_length)

    def _join(self, sides: Sequence[np.ndarray], max_length: int | None = None) -> np.ndarray:
        first, second = sides
        return np.stack(self.codec.pair(first, second, max_length), axis=1)

    def tokens(self, encoded: np.ndarray) -> np.ndarray:
        """The tokens of an encoding."""
        return encoded[:, 0] if self.is_pair else encoded

    def tensors(self, encoded: Sequence[np.ndarray]) -> dict[str, Tensor]:
        if not self.is_pair:
            return source_batch(encoded)
        return source_batch([ids[:, 0] for ids in encoded], [ids[:, 1] for ids in encoded])


def _n_texts(rows: Rows) -> int:
    return max(1, len(next(rows(), ())) - 1)

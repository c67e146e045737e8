"""The input of `classify` and `regress`: a text, or a pair of texts encoded as one sequence."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..data.codecs.text import Codec, TextCodec, TextConfig, fit_codec
from ..data.collate import collate_sources, source_batch
from ..data.store import Store
from ..parallel import decode_batches
from .base import Rows

TOKENIZER, COLUMNS = "tokenizer.json", "texts.json"
Text = str | tuple[str, str]
"""A text, or a pair of texts."""
BOTH = "text and text2"
"""Name of a pair in messages, and of its joint size."""
BETWEEN = "\t"
"""Separates the texts of a pair that is displayed as one text."""


class TextInputs:
    """The input texts of a model, with their codec.

    A single text is stored with its special tokens. The texts of a pair are stored separately and
    without special tokens, and joined when a batch is made.

    Args:
        codec: codec of source texts.
        is_pair: whether an example has two texts.
    """

    def __init__(self, codec: TextCodec, is_pair: bool) -> None:
        self.codec = codec
        self.is_pair = is_pair
        self._plain = TextCodec(codec.tokenizer, ends=False)

    @classmethod
    def fit(cls, rows: Rows, text: TextConfig) -> "TextInputs":
        """Trains the tokenizer on the texts of rows: all columns but the last."""
        n = _n_texts(rows)
        return cls(fit_codec((side for row in rows() for side in row[:n]), text, reads=True), n > 1)

    @classmethod
    def adopt(cls, folder: Path, rows: Rows) -> "TextInputs":
        """The inputs with a tokenizer that another run has saved to `folder`."""
        return cls(TextCodec.load(folder / TOKENIZER, reads=True), _n_texts(rows) > 1)

    def save(self, folder: Path) -> None:
        """Writes `tokenizer.json` and, for pairs, `texts.json` with the names of their columns."""
        self.codec.save(folder / TOKENIZER)
        if self.is_pair:
            (folder / COLUMNS).write_text(json.dumps(list(self.codecs)) + "\n", "utf-8")

    @classmethod
    def load(cls, folder: Path) -> "TextInputs":
        """The inputs that `save` wrote."""
        return cls(TextCodec.load(folder / TOKENIZER, reads=True), (folder / COLUMNS).exists())

    @property
    def codecs(self) -> dict[str, Codec]:
        if self.is_pair:
            return {"text": self._plain, "text2": self._plain}
        return {"text": self.codec}

    @property
    def lengths(self) -> tuple[str, ...]:
        """The sizes that count as a batch's tokens."""
        return (BOTH,) if self.is_pair else ("text",)

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
        """An example as text."""
        sides = [codec.decode(store[name][index].tolist()) for name, codec in self.codecs.items()]
        return BETWEEN.join(sides)

    def encode(self, texts: Sequence[Text]) -> list[np.ndarray]:
        """The encoding of each input: tokens (n,); for a pair, tokens and segments (n, 2)."""
        if not self.is_pair:
            return self.codec.encode_batch(texts)  # type: ignore[arg-type]
        sides = [self._plain.encode_batch([text[side] for text in texts]) for side in (0, 1)]
        return [self._join(pair) for pair in zip(*sides, strict=True)]

    def truncate(self, text: Text, max_length: int) -> np.ndarray:
        """The truncated encoding of an input that is too long; the longer text of a pair first."""
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
        """A batch of encodings."""
        if not self.is_pair:
            return source_batch(encoded)
        return source_batch([ids[:, 0] for ids in encoded], [ids[:, 1] for ids in encoded])

    def batches(
        self, encoded: Sequence[np.ndarray], device: torch.device
    ) -> Iterator[tuple[list[int], dict[str, Tensor]]]:
        """Batches of encodings of similar length, each with the indices of its rows."""
        for rows in decode_batches([len(ids) for ids in encoded], 1):
            batch = self.tensors([encoded[row] for row in rows])
            yield rows, {name: value.to(device) for name, value in batch.items()}


def _n_texts(rows: Rows) -> int:
    return max(1, len(next(rows(), ())) - 1)

"""Vectors of texts and of words in context, their cosines and nearest neighbours.

`text_encoder.py` computes the states; this file pools them.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from ..errors import DataError
from ..nn.pooling import mean_pool
from ..runs.directory import NORMALISED
from .base import TooLong, TrainedModel, location_of
from .text_encoder import EncodedBatch, TextEncoder

Pooling = Literal["mean", "first"]


@dataclass(frozen=True)
class Neighbour:
    """A vector near a query.

    Attributes:
        index: its row among the vectors, from 0.
        cosine: its cosine with the query.
    """

    index: int
    cosine: float


class Embedder:
    """Computes vectors with the encoder of a trained run.

    Args:
        pooling: the `mean` of all states of a text, special tokens included, or the state of its
            `first` token; by default the pooling of the run's own head. A layer between pooling
            and head (`model.pooler`) is left out.
        normalise: whether vectors get length 1; by default only if the run was imported from a
            sentence encoder that does so.

    Raises:
        ConfigError: the model is no encoder, or is an ensemble.
    """

    def __init__(
        self, trained: TrainedModel, pooling: Pooling | None = None, normalise: bool | None = None
    ) -> None:
        self.reading = TextEncoder(trained)
        self.pooling = pooling or self.reading.pooling
        default = bool(trained.run.facts.get(NORMALISED))
        self.normalise = default if normalise is None else normalise

    def embed(
        self,
        texts: Sequence[str],
        too_long: TooLong = "refuse",
        places: Sequence[str] | None = None,
    ) -> np.ndarray:
        """The vector of each text, in the order given, (n, D).

        Args:
            too_long: refuse a text longer than the model reads, with an error that names it, or
                cut its end off.
            places: names of the texts in messages; by default `text 1`, `text 2`, ...
        """
        encoded = self.reading.codec.tokenizer.encode_batch(texts)
        framed = [
            self.reading.add_special_tokens(ids, location_of(number, places), too_long)
            for number, ids in enumerate(encoded)
        ]
        return self._vectors(framed, self._pool)

    def embed_word(
        self,
        texts: Sequence[str],
        word: str,
        too_long: TooLong = "refuse",
        places: Sequence[str] | None = None,
    ) -> np.ndarray:
        """The vector of a word in the context of each text, (n, D).

        It is the mean of the states of the word's tokens, over all its occurrences as a whole word,
        upper or lower case.

        Raises:
            DataError: a text does not contain the word, or only in its cut end.
        """
        framed, word_positions = [], []
        for number, text in enumerate(texts):
            location = location_of(number, places)
            ids, spans = self.reading.codec.tokenizer.encode_spans(text)
            framed.append(self.reading.add_special_tokens(ids, location, too_long))
            kept = len(framed[-1]) - self.reading.codec.marks
            positions = [i for i in tokens_of(word, text, spans) if i < kept]
            if not positions:
                raise DataError(
                    f"{location}: the word {word!r} does not occur in it; leave the text out, or "
                    "name another word"
                )
            word_positions.append(np.array(positions) + int(self.reading.codec.begins))

        def pool_word(batch: EncodedBatch) -> Tensor:
            is_word = torch.zeros_like(batch.valid)
            for row, number in enumerate(batch.rows):
                is_word[row, torch.from_numpy(word_positions[number])] = True
            return mean_pool(batch.states, is_word)

        return self._vectors(framed, pool_word)

    def _pool(self, batch: EncodedBatch) -> Tensor:
        if self.pooling == "mean":
            return mean_pool(batch.states, batch.valid)
        if self.pooling == "first":
            return batch.states[:, 0]
        return batch.pooled  # the model's own way, as the last state of a recurrent network

    def _vectors(
        self, framed: Sequence[np.ndarray], pool: Callable[[EncodedBatch], Tensor]
    ) -> np.ndarray:
        vectors = np.zeros((len(framed), self.reading.width), np.float32)
        for batch in self.reading.read(framed):
            vectors[batch.rows] = pool(batch).float().cpu().numpy()
        return unit(vectors) if self.normalise else vectors


def unit(vectors: np.ndarray) -> np.ndarray:
    """The vectors scaled to length 1; zeros stay zeros. (n, D) -> (n, D)."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: np.ndarray = vectors / np.where(lengths > 0, lengths, 1)
    return scaled


def cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The cosine of every pair of vectors. (n, D), (m, D) -> (n, m)."""
    similarities: np.ndarray = unit(first) @ unit(second).T
    return similarities


def nearest(queries: np.ndarray, vectors: np.ndarray, top: int = 5) -> list[list[Neighbour]]:
    """The `top` vectors with the largest cosines for each query, the nearest first.

    Shape: (n, D), (m, D) -> n lists.
    """
    similarities = cosines(queries, vectors)
    order = np.argsort(-similarities, axis=1, kind="stable")[:, :top]  # the first of equals
    return [
        [Neighbour(int(i), float(row[i])) for i in best]
        for row, best in zip(similarities, order, strict=True)
    ]


def tokens_of(word: str, text: str, spans: Sequence[tuple[int, int]]) -> list[int]:
    """The indices of a word's tokens, over all its occurrences as a whole word.

    Args:
        spans: start and end of each token, in characters of the text.
    """
    whole = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
    occurrences = [match.span() for match in whole.finditer(text)]
    return [
        index
        for index, (start, end) in enumerate(spans)
        if any(start < last and end > first for first, last in occurrences)
    ]

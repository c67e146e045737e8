"""Vectors of texts and of words in context, their cosines and nearest neighbours.

`text_encoder.py` computes the states; this file pools them.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from ..arguments import checked
from ..errors import DataError
from ..nn.pooling import mean_pool
from ..runs.directory import NORMALISED
from .base import TooLong, TrainedModel, location_of
from .input_errors import InputErrors, OnError
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

    @checked
    def __init__(
        self, trained: TrainedModel, pooling: Pooling | None = None, normalise: bool | None = None
    ) -> None:
        self.reading = TextEncoder(trained)
        self.pooling = pooling or self.reading.pooling
        default = bool(trained.run.facts.get(NORMALISED))
        self.normalise = default if normalise is None else normalise

    @checked
    def embed(
        self,
        texts: Iterable[str],
        too_long: TooLong = "refuse",
        places: Sequence[str] | None = None,
        on_error: OnError = "stop",
    ) -> np.ndarray:
        """The vector of each text, in the order given, (n, D).

        Args:
            too_long: refuse a text longer than the model reads, with an error that names it, or
                cut its end off.
            places: names of the texts in messages; by default `text 1`, `text 2`, ...
            on_error: stop at the first text that cannot be used, or keep going: its vector is then
                NaN.
        """
        return self.matrix(self.rows(list(texts), None, too_long, places, on_error))

    @checked
    def embed_word(
        self,
        texts: Iterable[str],
        word: str,
        too_long: TooLong = "refuse",
        places: Sequence[str] | None = None,
        on_error: OnError = "stop",
    ) -> np.ndarray:
        """The vector of a word in the context of each text, (n, D).

        It is the mean of the states of the word's tokens, over all its occurrences as a whole word,
        upper or lower case.

        Raises:
            InputError: a text does not contain the word, or only in its cut end.
        """
        return self.matrix(self.rows(list(texts), word, too_long, places, on_error))

    def rows(
        self,
        texts: Sequence[Any],
        word: str | None,
        too_long: TooLong,
        places: Sequence[str] | None,
        on_error: OnError,
    ) -> list[np.ndarray]:
        """The vector of each text, or of a word in it, (D); with `keep` also `InputError`s."""
        errors = InputErrors(texts, on_error, lambda row: location_of(row, places))
        encoded = self.reading.codec.tokenizer.encode_batch(texts[row] for row in errors.rows)
        framed: dict[int, np.ndarray] = {}
        positions: dict[int, np.ndarray] = {}
        for row, ids in zip(errors.rows, encoded, strict=True):
            with errors.of(row):
                location = location_of(row, places)
                with_marks = self.reading.add_special_tokens(ids, location, too_long)
                if word is not None:
                    n_tokens = len(with_marks) - self.reading.codec.marks
                    positions[row] = self._find(word, texts[row], n_tokens, location)
                framed[row] = with_marks
        pool = self._pool if word is None else self._pooling_word(list(positions.values()))
        return errors.with_results(self._vectors(list(framed.values()), pool))

    def matrix(self, rows: Sequence[Any]) -> np.ndarray:
        """The vectors of `rows` as one array, with NaN for errors, (n, D)."""
        missing = np.full(self.reading.width, np.nan, np.float32)
        vectors = [row if isinstance(row, np.ndarray) else missing for row in rows]
        return np.array(vectors, np.float32).reshape(len(rows), self.reading.width)

    def _find(self, word: str, text: str, n_tokens: int, location: str) -> np.ndarray:
        """The positions of a word's tokens among the first of a text, special tokens counted."""
        _, spans = self.reading.codec.tokenizer.encode_spans(text)
        positions = tokens_of(word, text, spans[:n_tokens])
        if not positions:
            raise DataError(
                f"{location}: the word {word!r} does not occur in it; leave the text out, or "
                "name another word"
            )
        return np.array(positions) + int(self.reading.codec.begins)

    def _pooling_word(self, positions: Sequence[np.ndarray]) -> Callable[[EncodedBatch], Tensor]:
        """The mean over the positions of a word in each text."""

        def pool_word(batch: EncodedBatch) -> Tensor:
            is_word = torch.zeros_like(batch.valid)
            for row, number in enumerate(batch.rows):
                is_word[row, torch.from_numpy(positions[number])] = True
            return mean_pool(batch.states, is_word)

        return pool_word

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


@checked
def cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The cosine of every pair of vectors. (n, D), (m, D) -> (n, m)."""
    similarities: np.ndarray = unit(first) @ unit(second).T
    return similarities


@checked
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

"""Vectors of texts and of words in them, and how near they are to each other."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from ..errors import DataError
from ..nn.pooling import mean_pool
from .importing import NORMALISED
from .reading import Read, Reading, TooLong, place_of
from .trained import Trained

Pooling = Literal["mean", "first"]


@dataclass(frozen=True)
class Neighbour:
    """A text that is near another one.

    Attributes:
        index: its place among those that were looked through, from 0.
    """

    index: int
    cosine: float


class Embedder:
    """Makes vectors with a trained run whose model reads texts.

    Args:
        pooling: the `mean` of all states of a text, its marks included, or the state of its `first`
            token; by default what the run does for its own head. A layer that a head has over that
            vector (`model.pooler`) is not part of it.
        normalise: whether vectors get length 1; by default only if the model was imported as one
            that does so.

    Raises:
        ConfigError: the model does not read, or there are several.
    """

    def __init__(
        self, trained: Trained, pooling: Pooling | None = None, normalise: bool | None = None
    ) -> None:
        self.reading = Reading(trained)
        self.pooling = pooling or self.reading.pooling
        usual = bool(trained.run.facts.get(NORMALISED))
        self.normalise = usual if normalise is None else normalise

    def embed(
        self,
        texts: Sequence[str],
        too_long: TooLong = "refuse",
        places: Sequence[str] | None = None,
    ) -> np.ndarray:
        """A vector of each text, in the order given, (n, D).

        Args:
            too_long: what to do with a text that is longer than the model can read: refuse it,
                naming its place, or cut it off.
            places: names of the texts in messages, by default `text 1`, `text 2`, ...
        """
        encoded = self.reading.codec.tokenizer.encode_batch(texts)
        framed = [
            self.reading.framed(ids, place_of(number, places), too_long)
            for number, ids in enumerate(encoded)
        ]
        return self._vectors(framed, self._pooled)

    def embed_word(
        self,
        texts: Sequence[str],
        word: str,
        too_long: TooLong = "refuse",
        places: Sequence[str] | None = None,
    ) -> np.ndarray:
        """A vector of the word as it stands in each text, (n, D).

        It is the mean of the states of all tokens that write it, wherever it stands as a whole
        word, in capitals or not.

        Raises:
            DataError: it does not stand in a text, or only in what was cut off.
        """
        framed, places_of_word = [], []
        for number, text in enumerate(texts):
            place = place_of(number, places)
            ids, spans = self.reading.codec.tokenizer.encode_spans(text)
            framed.append(self.reading.framed(ids, place, too_long))
            kept = len(framed[-1]) - self.reading.codec.marks
            found = [i for i in tokens_of(word, text, spans) if i < kept]
            if not found:
                raise DataError(
                    f"{place}: the word {word!r} does not stand in it; leave the text out, or name "
                    "another word"
                )
            places_of_word.append(np.array(found) + int(self.reading.codec.begins))

        def pooled(read: Read) -> Tensor:
            chosen = torch.zeros_like(read.valid)
            for row, number in enumerate(read.rows):
                chosen[row, torch.from_numpy(places_of_word[number])] = True
            return mean_pool(read.states, chosen)

        return self._vectors(framed, pooled)

    def _pooled(self, read: Read) -> Tensor:
        if self.pooling == "mean":
            return mean_pool(read.states, read.valid)
        if self.pooling == "first":
            return read.states[:, 0]
        return read.pooled  # in a way of its own, as the last state of a recurrent network

    def _vectors(
        self, framed: Sequence[np.ndarray], pooled: Callable[[Read], Tensor]
    ) -> np.ndarray:
        found = np.zeros((len(framed), self.reading.width), np.float32)
        for read in self.reading.read(framed):
            found[read.rows] = pooled(read).float().cpu().numpy()
        return unit(found) if self.normalise else found


def unit(vectors: np.ndarray) -> np.ndarray:
    """The same directions with length 1; a vector of zeros stays one. (n, D) -> (n, D)."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    found: np.ndarray = vectors / np.where(lengths > 0, lengths, 1)
    return found


def cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The cosine of the angle between each two vectors. (n, D), (m, D) -> (n, m)."""
    found: np.ndarray = unit(first) @ unit(second).T
    return found


def nearest(queries: np.ndarray, vectors: np.ndarray, top: int = 5) -> list[list[Neighbour]]:
    """Of each query the `top` vectors with the largest cosines, the nearest first.

    Shape: (n, D), (m, D) -> n lists.
    """
    found = cosines(queries, vectors)
    order = np.argsort(-found, axis=1, kind="stable")[:, :top]  # of equals the first one
    return [
        [Neighbour(int(i), float(row[i])) for i in best]
        for row, best in zip(found, order, strict=True)
    ]


def tokens_of(word: str, text: str, spans: Sequence[tuple[int, int]]) -> list[int]:
    """The numbers of the tokens that write a word, wherever it stands in a text as a whole word.

    Args:
        spans: start and end of each token, in characters of the text.
    """
    whole = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
    found = [match.span() for match in whole.finditer(text)]
    return [
        number
        for number, (start, end) in enumerate(spans)
        if any(start < last and end > first for first, last in found)
    ]

"""A trained tagger in use: a tag for each word of a sentence. Typed results, no printing."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from torch import Tensor

from ..data.collate import source_batch
from ..data.words import first_tokens
from ..metrics.entities import entities
from ..tasks import Tag
from ..view.report import Sample
from .inspecting import likeliest
from .inspection import Inspected
from .pieces import check_length
from .predictor import Predictor, TooLong
from .results import Output
from .trained import Logged

CUT = "shorten it, or have it cut into parts (--cut)"


@dataclass(frozen=True)
class Entity:
    """Words from `start` up to `end`, counted from 0, which are one thing.

    Attributes:
        probability: the smallest of its words.
    """

    type: str
    text: str
    start: int
    end: int
    probability: float


@dataclass(frozen=True)
class Tagged:
    """A sentence with its tags.

    Attributes:
        tags: of each word, well formed, in the scheme of the training data.
        probabilities: of each of these tags.
        entities: what the tags tell of; none where they are no entities.
    """

    words: list[str]
    tags: list[str]
    probabilities: list[float]
    entities: list[Entity]


class Tagger(Predictor):
    """A model with its vocabulary and its tags, made by `headway.load`."""

    nouns = ("sentences", "lines of tags")
    task: Tag

    @property
    def tags(self) -> tuple[str, ...]:
        """All there are; of entities as the model tells them, in BIO."""
        return self.task.tags.tags

    def known(self) -> dict[str, Any]:
        return {"tags": list(self.tags), "scheme": self.task.tags.scheme}

    def predict(
        self,
        inputs: Sequence[str | Sequence[str]],
        too_long: TooLong = "refuse",
        places: Sequence[str] | None = None,
    ) -> list[Tagged]:
        """The tags of each sentence, in the order given.

        Args:
            inputs: sentences, each a text with spaces between the words, or a list of words.
            too_long: what to do with a sentence of more tokens than `data.max_length`: refuse it,
                naming its place, or cut it into parts that are tagged each for itself.
            places: names of the sentences in messages, by default `sentence 1`, ...
        """
        sentences = [one.split() if isinstance(one, str) else list(one) for one in inputs]
        parts = [
            list(self._parts(words, too_long, self._place(number, places)))
            for number, words in enumerate(sentences)
        ]
        flat = [part for some in parts for part in some]
        found = iter(self.task.probabilities(self.model, flat))
        tagged = []
        for words, some in zip(sentences, parts, strict=True):
            tagged.append(self._tagged(words, [next(found) for _ in some]))
        return tagged

    def record(self, prediction: Tagged) -> dict[str, Any]:
        return asdict(prediction)

    def length(self, given: str, place: str, remedy: str) -> int:
        n = len(self.task.words.encode(given.split()))
        check_length(n, self.max_length, place, remedy)
        return n

    def looked(self, given: str) -> tuple[dict[str, Tensor], list[Inspected]]:
        """The one output is the tags, as the model tells them."""
        words = given.split()
        encoded = self.task.words.encode(words)
        [probabilities] = self.task.probabilities(self.model, [encoded])
        log_probs = np.log(np.maximum(probabilities, 1e-300))  # (words, tags)
        best = self.task.best(probabilities)
        values = log_probs[np.arange(len(words)), best]
        total, tags = float(values.sum()), [self.tags[number] for number in best]
        output = Output(" ".join(tags), total, total / len(words), tags, values.tolist(), True)
        top = likeliest(log_probs, lambda numbers: [self.tags[number] for number in numbers])
        return source_batch([encoded[:, 0]]), [Inspected(output, top, [], words=words)]

    def _parts(self, words: list[str], too_long: TooLong, place: str) -> Iterator[np.ndarray]:
        """The encoding of a sentence, or of its parts if it is to be cut."""
        encoded = self.task.words.encode(words)
        if len(encoded) <= self.max_length or too_long == "refuse":
            check_length(len(encoded), self.max_length, place, CUT)
            yield encoded
            return
        edges = [*first_tokens(encoded).tolist(), len(encoded) - 1]
        room = self.max_length - self.task.words.marks
        start = 0
        while start < len(words):
            stop = start + 1  # a single word is taken whatever it is
            while stop < len(words) and edges[stop + 1] - edges[start] <= room:
                stop += 1
            yield self._fitting(words[start:stop])
            start = stop

    def _fitting(self, words: list[str]) -> np.ndarray:
        """The encoding of words, of which a last one that is too long loses its end."""
        encoded = self.task.words.encode(words)
        more = len(encoded) - self.max_length
        end = len(encoded) - 1
        return np.delete(encoded, slice(end - more, end), axis=0) if more > 0 else encoded

    def _tagged(self, words: list[str], parts: Sequence[np.ndarray]) -> Tagged:
        numbers = [self.task.best(values) for values in parts]
        chosen = [
            values[np.arange(len(values)), best]
            for values, best in zip(parts, numbers, strict=True)
        ]
        tags = self.task.tags.tags_of([int(number) for best in numbers for number in best])
        probabilities = [float(value) for values in chosen for value in values]
        return Tagged(words, tags, probabilities, self._entities(words, tags, probabilities))

    def _entities(
        self, words: list[str], tags: list[str], probabilities: list[float]
    ) -> list[Entity]:
        if self.task.tags.scheme == "plain":
            return []
        return [
            Entity(kind, " ".join(words[start:end]), start, end, min(probabilities[start:end]))
            for kind, start, end in entities(tags)
        ]

    def _complaint(self, given: str | Sequence[str], reference: str) -> str | None:
        return super()._complaint(given if isinstance(given, str) else " ".join(given), reference)

    def output(self, prediction: Tagged) -> list[str]:
        return prediction.tags

    def right(self, reference: str) -> list[str]:
        return reference.split()

    def written(self, output: list[str]) -> str:
        return " ".join(output)

    def shown(self, rows: Sequence[Logged]) -> list[Sample]:
        found = self.predict([text for text, _, _ in rows], "cut")
        return [
            Sample(text, " ".join(now.tags), expected)
            for (text, _, expected), now in zip(rows, found, strict=True)
        ]

"""Trained taggers in use: a tag for each word of a sentence, and named entities.

`predictor.py` evaluates; `tasks/tag.py` computes probabilities and chooses well-formed tags.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from ..arguments import checked
from ..data.codecs.words import first_tokens
from ..data.collate import source_batch
from ..errors import InputError
from ..inspection.build import likeliest
from ..inspection.hypothesis import TextHypothesis
from ..inspection.inspection import InspectedOutput
from ..metrics.entities import entities
from ..tasks.tag import Tag
from ..view.report import Sample
from .base import Logged, TooLong
from .input_errors import OnError
from .predictor import Predictor
from .requests import check_length
from .results import Result

CUT = 'shorten it, or have it cut into parts (`too_long="cut"`)'


@dataclass(frozen=True)
class Entity:
    """A named entity: the words from `start` to before `end`, counted from 0.

    Attributes:
        probability: the smallest probability among its tags.
    """

    type: str
    text: str
    start: int
    end: int
    probability: float


@dataclass(frozen=True)
class TaggedText(Result):
    """A sentence with its tags.

    Attributes:
        tags: one for each word, well formed, in the scheme of the training data.
        probabilities: probability of each of these tags.
        entities: named entities; empty for tags that mark none.
    """

    words: list[str]
    tags: list[str]
    probabilities: list[float]
    entities: list[Entity]


class Tagger(Predictor):
    """A model with its vocabulary and its tags, made by `headway.load`."""

    nouns = ("sentences", "lines of tags")
    line = "the tags of the words"
    response = TaggedText
    task: Tag

    @property
    def tags(self) -> tuple[str, ...]:
        """All tags of the model; tags of entities are in BIO, whatever the data use."""
        return self.task.tags.tags

    def label_space(self) -> dict[str, Any]:
        return {"tags": list(self.tags), "scheme": self.task.tags.scheme}

    def describe_label_space(self) -> str:
        return f"{len(self.tags)} tags, {self.task.tags.scheme}"

    @checked
    def predict(
        self,
        inputs: Iterable[str | Sequence[str] | InputError],
        too_long: TooLong = "refuse",
        places: Sequence[str] | None = None,
        on_error: OnError = "stop",
    ) -> list[TaggedText]:
        """The tags of each sentence, in the order given.

        Args:
            inputs: sentences, each a text with spaces between the words, or a list of words.
            too_long: refuse a sentence of more tokens than `data.max_length`, with an error that
                names it, or cut it into parts that are tagged separately.
            places: names of the sentences in messages; by default `sentence 1`, ...
            on_error: as in `Predictor.predict`.
        """
        sentences = list(inputs)
        errors = self._errors(sentences, places, on_error)
        parts: dict[int, list[np.ndarray]] = {}
        for row in errors.rows:
            with errors.of(row):
                location = self._location(row, places)
                parts[row] = list(self._parts(_words(sentences[row]), too_long, location))
        all_parts = [part for sentence_parts in parts.values() for part in sentence_parts]
        probabilities = iter(self.task.probabilities(self.model, all_parts))
        return errors.with_results(
            self._tagged(_words(sentences[row]), [next(probabilities) for _ in sentence_parts])
            for row, sentence_parts in parts.items()
        )

    def length(self, text: str | Sequence[str], location: str, remedy: str) -> int:
        n = len(self.task.words.encode(_words(text)))
        check_length(n, self.max_length, location, remedy)
        return n

    def inspect_inputs(
        self, text: str | Sequence[str]
    ) -> tuple[dict[str, Tensor], list[InspectedOutput]]:
        """The sentence as a batch of one; its only output are the tags of the model."""
        words = _words(text)
        encoded = self.task.words.encode(words)
        [probabilities] = self.task.probabilities(self.model, [encoded])
        log_probs = np.log(np.maximum(probabilities, 1e-300))  # (words, tags)
        best = self.task.best(probabilities)
        values = log_probs[np.arange(len(words)), best]
        total, tags = float(values.sum()), [self.tags[number] for number in best]
        output = TextHypothesis(
            " ".join(tags), total, total / len(words), tags, values.tolist(), True
        )
        top = likeliest(log_probs, lambda numbers: [self.tags[number] for number in numbers])
        return source_batch([encoded[:, 0]]), [InspectedOutput(output, top, [], words=words)]

    def _parts(self, words: list[str], too_long: TooLong, location: str) -> Iterator[np.ndarray]:
        """The encoded sentence, or its encoded parts if it is too long and may be cut."""
        encoded = self.task.words.encode(words)
        if len(encoded) <= self.max_length or too_long == "refuse":
            check_length(len(encoded), self.max_length, location, CUT)
            yield encoded
            return
        edges = [*first_tokens(encoded).tolist(), len(encoded) - 1]
        room = self.max_length - self.task.words.marks
        start = 0
        while start < len(words):
            stop = start + 1  # a part has at least one word, however long
            while stop < len(words) and edges[stop + 1] - edges[start] <= room:
                stop += 1
            yield self._encode_truncated(words[start:stop])
            start = stop

    def _encode_truncated(self, words: list[str]) -> np.ndarray:
        """The encoded words; if there are too many tokens, the last word loses its end."""
        encoded = self.task.words.encode(words)
        excess = len(encoded) - self.max_length
        end = len(encoded) - 1
        return np.delete(encoded, slice(end - excess, end), axis=0) if excess > 0 else encoded

    def _tagged(self, words: list[str], parts: Sequence[np.ndarray]) -> TaggedText:
        numbers = [self.task.best(values) for values in parts]
        chosen = [
            values[np.arange(len(values)), best]
            for values, best in zip(parts, numbers, strict=True)
        ]
        tags = self.task.tags.tags_of([int(number) for best in numbers for number in best])
        probabilities = [float(value) for values in chosen for value in values]
        return TaggedText(words, tags, probabilities, self._entities(words, tags, probabilities))

    def _entities(
        self, words: list[str], tags: list[str], probabilities: list[float]
    ) -> list[Entity]:
        if self.task.tags.scheme == "plain":
            return []
        return [
            Entity(type_, " ".join(words[start:end]), start, end, min(probabilities[start:end]))
            for type_, start, end in entities(tags)
        ]

    def _complaint(self, text: str | Sequence[str], reference: str) -> str | None:
        return super()._complaint(text if isinstance(text, str) else " ".join(text), reference)

    def output(self, prediction: TaggedText) -> list[str]:
        return prediction.tags

    def parse_reference(self, reference: str) -> list[str]:
        return reference.split()

    def format_output(self, output: list[str]) -> str:
        return " ".join(output)

    def report_samples(self, rows: Sequence[Logged]) -> list[Sample]:
        predictions = self.predict([text for text, _, _ in rows], "cut")
        return [
            Sample(text, " ".join(tagged.tags), expected)
            for (text, _, expected), tagged in zip(rows, predictions, strict=True)
        ]


def _words(text: Any) -> list[str]:
    """The words of a sentence, which is a text or a list of words."""
    return text.split() if isinstance(text, str) else list(text)

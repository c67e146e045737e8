"""A trained classifier in use: labels with their probabilities. Typed results, no printing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..errors import DataError
from ..metrics.interval import RESAMPLES
from ..metrics.score import Score
from ..tasks import Classify
from ..view.report import Sample
from .inspecting import check_not_blank, inspect_labels
from .inspection import Inspection
from .pieces import check_length
from .trained import Logged, Trained

TooLong = Literal["refuse", "cut"]


@dataclass(frozen=True)
class Prediction:
    """What a text is labelled.

    Attributes:
        probability: of the label.
        probabilities: of every label there is, the likeliest first.
    """

    label: str
    probability: float
    probabilities: dict[str, float]


@dataclass(frozen=True)
class LabelEvaluation:
    """Scores by metric, and the labels they were taken on."""

    scores: dict[str, Score]
    outputs: list[str]


class Classifier(Trained):
    """A model with its vocabulary and its labels, made by `headway.load`."""

    commands = {"predict": "FILE"}  # noqa: RUF012 (declared a ClassVar by the base)
    task: Classify

    @property
    def labels(self) -> tuple[str, ...]:
        """All there are, in the order of their names."""
        return self.task.labels.labels

    def predict(
        self,
        texts: Sequence[str],
        too_long: TooLong = "refuse",
        places: Sequence[str] | None = None,
    ) -> list[Prediction]:
        """The label of each text, in the order given; that of a blank one is a guess as well.

        Args:
            too_long: what to do with a text longer than `data.max_length`: refuse it, naming its
                place, or cut it off there.
            places: names of the texts in messages, by default `text 1`, `text 2`, ...
        """
        encoded = self._encode(texts, too_long, places)
        return [self._prediction(row) for row in self.task.predict(self.model, encoded)]

    def evaluate(
        self,
        texts: Sequence[str],
        labels: Sequence[str],
        metrics: Sequence[str] | None = None,
        too_long: TooLong = "refuse",
        places: Sequence[str] | None = None,
        resamples: int = RESAMPLES,
    ) -> LabelEvaluation:
        """How often texts get their right labels.

        Args:
            metrics: by default all of the task.

        Raises:
            DataError: a label is empty or one that the training data did not have.
        """
        names = metrics or self.task.metrics
        for name in names:
            if name not in self.task.metrics:
                raise self.task.unknown_metric(name)
        if len(texts) != len(labels):
            raise DataError(f"{len(texts)} texts for {len(labels)} labels; expected one for each")
        for number, label in enumerate(labels):
            if problem := self.task.labels.complaint(label):
                raise DataError(f"{_place(number, places)}: {problem}")
        outputs = [found.label for found in self.predict(texts, too_long, places)]
        right = [self.task.labels.clean(label) for label in labels]
        scores = {name: self.task.judge(name, outputs, right, resamples) for name in names}
        return LabelEvaluation(scores, outputs)

    def inspect(self, text: str) -> Inspection:
        """What the model does with a text.

        Raises:
            DataError: the text is blank, or too long.
            ConfigError: this is an ensemble.
        """
        model = self.only_model("looking inside")
        check_not_blank(not text.strip())
        [ids] = self.task.codec.encode_batch([text])
        check_length(len(ids), self.max_length, "the text", "shorten it")
        return inspect_labels(model, text, self.task.codec, ids, self.labels, self.background())

    def shown(self, rows: Sequence[Logged]) -> list[Sample]:
        found = self.predict([text for text, _, _ in rows], "cut")
        return [
            Sample(text, now.label, expected)
            for (text, _, expected), now in zip(rows, found, strict=True)
        ]

    def _encode(
        self, texts: Sequence[str], too_long: TooLong, places: Sequence[str] | None
    ) -> list[np.ndarray]:
        encoded = self.task.codec.encode_batch(texts)
        for number, ids in enumerate(encoded):
            if len(ids) > self.max_length and too_long == "cut":
                end = np.array([self.task.codec.eos], ids.dtype)
                encoded[number] = np.concatenate([ids[: self.max_length - 1], end])
            check_length(
                len(encoded[number]),
                self.max_length,
                _place(number, places),
                "shorten it, or have it cut off (--cut)",
            )
        return encoded

    def _prediction(self, probabilities: np.ndarray) -> Prediction:
        order = np.argsort(-probabilities, kind="stable")  # of equals the first one, as argmax
        by_label = {self.labels[i]: float(probabilities[i]) for i in order}
        label = self.labels[order[0]]
        return Prediction(label, by_label[label], by_label)


def _place(number: int, places: Sequence[str] | None) -> str:
    return f"text {number + 1}" if places is None else places[number]

"""Trained classifiers in use: labels with their probabilities.

`predictor.py` encodes the inputs and evaluates; `tasks/classify.py` computes the probabilities.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from ..inspection.build import scored_output
from ..inspection.inspection import InspectedOutput
from ..tasks.classify import Classify
from .predictor import Floor, SequenceInput, SequencePredictor
from .results import Result


@dataclass(frozen=True)
class Prediction(Result):
    """The label of a text or a series.

    Attributes:
        probability: probability of the label.
        probabilities: probability of every label, the likeliest first.
    """

    label: str
    probability: float
    probabilities: dict[str, float]


class Classifier(SequencePredictor[Prediction]):
    """A model with its vocabulary and its labels, made by `headway.load`."""

    output_noun = "labels"
    line = "label, tab, probability"
    response = Prediction
    task: Classify

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels: sorted by name, or in the order of an imported model."""
        return self.task.labels.labels

    def label_space(self) -> dict[str, Any]:
        return {"labels": list(self.labels)}

    def describe_label_space(self) -> str:
        return f"{len(self.labels)} labels"

    def inspect_inputs(
        self, text: SequenceInput
    ) -> tuple[dict[str, Tensor], list[InspectedOutput]]:
        [prediction] = self.predict([text])
        outputs = [
            scored_output(label, probability)
            for label, probability in prediction.probabilities.items()
        ]
        return self.read(text), outputs

    def output(self, prediction: Prediction) -> str:
        return prediction.label

    def parse_reference(self, reference: str) -> str:
        return self.task.labels.clean(reference)

    def format_output(self, output: str) -> str:
        return output

    def format_prediction(self, prediction: Prediction) -> str:
        return f"{prediction.label}\t{prediction.probability:.6f}"

    def floor(self, references: Sequence[str], metrics: Iterable[str]) -> Floor | None:
        """The accuracy of the most frequent label."""
        if "accuracy" not in metrics:
            return None
        label, n = Counter(map(self.parse_reference, references)).most_common(1)[0]
        return Floor(f"the label {label!r}", {"accuracy": 100 * n / len(references)})

    def prediction(self, output: np.ndarray) -> Prediction:
        order = np.argsort(-output, kind="stable")  # the first of equals, like argmax
        by_label = {self.labels[i]: float(output[i]) for i in order}
        label = self.labels[order[0]]
        return Prediction(label, by_label[label], by_label)

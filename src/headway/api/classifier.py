"""A trained classifier in use: labels with their probabilities. Typed results, no printing."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from torch import Tensor

from ..tasks import Classify
from ..tasks.texts import Text
from ..view.report import Sample
from .inspecting import told
from .inspection import Inspected
from .predictor import TooLong
from .text_predictor import TextPredictor
from .trained import Logged


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


class Classifier(TextPredictor):
    """A model with its vocabulary and its labels, made by `headway.load`."""

    nouns = ("texts", "labels")
    task: Classify

    @property
    def labels(self) -> tuple[str, ...]:
        """All there are: in the order of their names, or in that of a model from elsewhere."""
        return self.task.labels.labels

    def known(self) -> dict[str, Any]:
        return {"labels": list(self.labels)}

    def predict(
        self,
        inputs: Sequence[Text],
        too_long: TooLong = "refuse",
        places: Sequence[str] | None = None,
    ) -> list[Prediction]:
        """The label of each text, in the order given; that of a blank one is a guess as well.

        Args:
            inputs: texts; pairs of them if that is what the training data have.
            too_long: what to do with a text longer than `data.max_length`: refuse it, naming its
                place, or cut it off there; of a pair the longer side first.
            places: names of the texts in messages, by default `text 1`, `text 2`, ...
        """
        encoded = self.encode(inputs, too_long, places)
        return [self._prediction(row) for row in self.task.predict(self.model, encoded)]

    def record(self, prediction: Prediction) -> dict[str, Any]:
        return asdict(prediction)

    def looked(self, given: Text) -> tuple[dict[str, Tensor], list[Inspected]]:
        [prediction] = self.predict([given])
        outputs = [told(label, chance) for label, chance in prediction.probabilities.items()]
        return self.read(given), outputs

    def output(self, prediction: Prediction) -> str:
        return prediction.label

    def right(self, reference: str) -> str:
        return self.task.labels.clean(reference)

    def written(self, output: str) -> str:
        return output

    def shown(self, rows: Sequence[Logged]) -> list[Sample]:
        found = []
        for text, output, expected in rows:
            given = self.logged(text)
            now = output if given is None else self.predict([given], "cut")[0].label
            found.append(Sample(text, now, expected))
        return found

    def _prediction(self, probabilities: np.ndarray) -> Prediction:
        order = np.argsort(-probabilities, kind="stable")  # of equals the first one, as argmax
        by_label = {self.labels[i]: float(probabilities[i]) for i in order}
        label = self.labels[order[0]]
        return Prediction(label, by_label[label], by_label)

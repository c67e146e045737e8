"""A trained regressor in use: a number for each text or pair. Typed results, no printing."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from ..tasks import Regress
from ..tasks.texts import Text
from ..view.report import Sample
from .inspection import Inspected
from .predictor import TooLong
from .results import Output
from .text_predictor import TextPredictor
from .trained import Logged


class Regressor(TextPredictor):
    """A model with its vocabulary and the scale of its values, made by `headway.load`."""

    nouns = ("texts", "values")
    task: Regress

    def known(self) -> dict[str, Any]:
        value = self.task.value
        return {"value": {"mean": value.mean, "deviation": value.deviation}}

    def predict(
        self,
        inputs: Sequence[Text],
        too_long: TooLong = "refuse",
        places: Sequence[str] | None = None,
    ) -> list[float]:
        """The value of each text, in the order given; that of a blank one is a guess as well.

        Args:
            inputs: texts; pairs of them if that is what the training data have.
            too_long: what to do with a text longer than `data.max_length`: refuse it, naming its
                place, or cut it off there; of a pair the longer side first.
            places: names of the texts in messages, by default `text 1`, `text 2`, ...
        """
        encoded = self.encode(inputs, too_long, places)
        found: list[float] = self.task.predict(self.model, encoded).tolist()
        return found

    def record(self, prediction: float) -> dict[str, Any]:
        return {"value": prediction}

    def looked(self, given: Text) -> tuple[dict[str, Tensor], list[Inspected]]:
        [value] = self.predict([given])
        output = Output(self.written(value), 0.0, value, [], [], True)
        return self.read(given), [Inspected(output, parts=[], value=value)]

    def output(self, prediction: float) -> float:
        return prediction

    def right(self, reference: str) -> float:
        return float(reference)

    def written(self, output: float) -> str:
        return f"{output:.6g}"

    def shown(self, rows: Sequence[Logged]) -> list[Sample]:
        found = []
        for text, output, expected in rows:
            given = self.logged(text)
            now = output if given is None else f"{self.predict([given], 'cut')[0]:.4g}"
            found.append(Sample(text, now, expected))
        return found

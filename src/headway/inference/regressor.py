"""Trained regressors in use: a number for each text, pair of texts or series.

`predictor.py` encodes the inputs and evaluates; `tasks/regress.py` computes the values.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from torch import Tensor

from ..inspection.hypothesis import TextHypothesis
from ..inspection.inspection import InspectedOutput
from ..tasks.regress import Regress
from .predictor import Floor, SequenceInput, SequencePredictor


@dataclass(frozen=True)
class ValueResponse:
    """The value of an input; in Python it is a plain number."""

    value: float


class Regressor(SequencePredictor[float]):
    """A model with its vocabulary and the scale of its values, made by `headway.load`."""

    output_noun = "values"
    line = "the value"
    response = ValueResponse
    digits = 4
    task: Regress

    def label_space(self) -> dict[str, Any]:
        value = self.task.value
        return {"value": {"mean": value.mean, "deviation": value.deviation}}

    def describe_label_space(self) -> str:
        return f"mean in training {self.task.value.mean:.4g}"

    def floor(self, references: Sequence[str], metrics: Iterable[str]) -> Floor | None:
        """The errors of the mean of the training data; it has no correlation."""
        expected = [self.parse_reference(reference) for reference in references]
        outputs = [self.task.value.mean] * len(expected)
        errors = [name for name in metrics if self.task.prefers_less(name)]
        scores = {name: self.task.judge(name, outputs, expected).value for name in errors}
        return Floor("the mean of the training data", scores) if scores else None

    def prediction(self, output: np.ndarray) -> float:
        return float(output)

    def to_dict(self, prediction: float) -> dict[str, Any]:
        return asdict(ValueResponse(prediction))

    def inspect_inputs(
        self, text: SequenceInput
    ) -> tuple[dict[str, Tensor], list[InspectedOutput]]:
        [value] = self.predict([text])
        output = TextHypothesis(self.format_output(value), 0.0, value, [], [], True)
        return self.read(text), [InspectedOutput(output, parts=[], value=value)]

    def output(self, prediction: float) -> float:
        return prediction

    def parse_reference(self, reference: str) -> float:
        return float(reference)

    def format_output(self, output: float) -> str:
        return f"{output:.6g}"

    def sample_output(self, prediction: float) -> str:
        return f"{prediction:.4g}"

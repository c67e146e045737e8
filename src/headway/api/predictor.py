"""What trained runs have in common that say something of each input: labels, tags, answers, values.

An input is what stands in the columns of a row but the last, which is what is predicted: a text, or
as many texts as there are columns.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from torch import Tensor

from ..errors import DataError
from ..metrics.interval import RESAMPLES
from ..tasks.texts import BETWEEN
from .inspecting import check_not_blank, inspect_reading
from .inspection import Inspected, Inspection
from .results import OutputEvaluation
from .trained import Trained

TooLong = Literal["refuse", "cut"]
Input = str | tuple[str, ...]


class Predictor(Trained):
    """A model with its codecs that predicts the last column from the others.

    Attributes:
        nouns: what inputs and outputs are called, in the plural.
    """

    commands = {"predict": "FILE"}  # noqa: RUF012 (declared a ClassVar by the base)
    nouns: ClassVar[tuple[str, str]]

    @abstractmethod
    def predict(
        self,
        inputs: Sequence[Any],
        too_long: TooLong = "refuse",
        places: Sequence[str] | None = None,
    ) -> list[Any]:
        """What is predicted of each input, in the order given.

        Args:
            too_long: what to do with an input that is longer than the model can read: refuse it,
                naming its place, or cut it.
            places: names of the inputs in messages.
        """

    @abstractmethod
    def record(self, prediction: Any) -> dict[str, Any]:
        """All of a prediction, as plain data."""

    @abstractmethod
    def looked(self, given: Any) -> tuple[Mapping[str, Tensor], list[Inspected]]:
        """What is to be seen of an input: the batch it is read in, alone, and its outputs."""

    @abstractmethod
    def output(self, prediction: Any) -> Any:
        """What metrics compare of a prediction."""

    @abstractmethod
    def right(self, reference: str) -> Any:
        """What they compare it with."""

    @abstractmethod
    def written(self, output: Any) -> str:
        """An output in one line."""

    @abstractmethod
    def known(self) -> dict[str, Any]:
        """What can be predicted, as plain data."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns that an input is made of."""
        columns: tuple[str, ...] = self.task.columns
        return columns[:-1]

    def input(self, values: Sequence[str]) -> Input:
        """The input that columns make."""
        return values[0] if len(self.inputs) == 1 else tuple(values[: len(self.inputs)])

    def inspect(self, given: Any) -> Inspection:
        """What the model does with an input.

        Raises:
            DataError: it is blank, or too long.
            ConfigError: this is an ensemble.
        """
        model = self.only_model("looking inside")
        self.length(given, "the text", "shorten it")
        shown = given if isinstance(given, str) else BETWEEN.join(given)
        check_not_blank(not shown.strip())
        batch, outputs = self.looked(given)
        tokenizer = self.task.codec.tokenizer
        return inspect_reading(
            self.task.name, model, shown, tokenizer, batch, outputs, self.background()
        )

    def usual_metrics(self, right: Sequence[Any]) -> Sequence[str]:
        """What is measured unless something else is asked for."""
        metrics: Sequence[str] = self.task.metrics
        return metrics

    def evaluate(
        self,
        inputs: Sequence[Any],
        references: Sequence[str],
        metrics: Sequence[str] | None = None,
        too_long: TooLong = "refuse",
        places: Sequence[str] | None = None,
        resamples: int = RESAMPLES,
    ) -> OutputEvaluation:
        """How right predictions are.

        Args:
            references: what stands in the last column.
            metrics: by default all of the task that can be told.

        Raises:
            DataError: a reference is none, or does not fit its input.
        """
        for name in metrics or ():
            if name not in self.task.metrics:
                raise self.task.unknown_metric(name)
        self.check(inputs, references, places)
        outputs = [self.output(found) for found in self.predict(inputs, too_long, places)]
        right = [self.right(reference) for reference in references]
        scores = {
            name: self.task.judge(name, outputs, right, resamples)
            for name in metrics or self.usual_metrics(right)
        }
        return OutputEvaluation(scores, [self.written(output) for output in outputs])

    def check(
        self, inputs: Sequence[Any], references: Sequence[str], places: Sequence[str] | None = None
    ) -> None:
        """Refuses references that are none, or do not fit their inputs.

        Raises:
            DataError: naming the first of them.
        """
        if len(inputs) != len(references):
            one, other = self.nouns
            raise DataError(
                f"{len(inputs)} {one} for {len(references)} {other}; expected one for each"
            )
        for number, (given, reference) in enumerate(zip(inputs, references, strict=True)):
            if problem := self._complaint(given, reference):
                raise DataError(f"{self._place(number, places)}: {problem}")

    def _complaint(self, given: Any, reference: str) -> str | None:
        values = (given, reference) if isinstance(given, str) else (*given, reference)
        fitting: str | None = self.task.complaint(values)
        of_its_own: str | None = self.task.codecs[self.task.columns[-1]].complaint(reference)
        return of_its_own or fitting

    def _place(self, number: int, places: Sequence[str] | None) -> str:
        return (
            f"{self.nouns[0].removesuffix('s')} {number + 1}" if places is None else places[number]
        )

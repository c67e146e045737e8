"""`Predictor`: trained models that predict a label, tags, an answer or a value for each input.

A row of the data has the input in all columns but the last, and the reference in the last. An
input is a text, or as many texts as it has columns. The tasks have a subclass each.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from torch import Tensor

from ..arguments import checked
from ..config.messages import counted
from ..data.config import Corpus, reads_series
from ..data.formats.read import Row, read
from ..data.series import Series
from ..errors import ConfigError, DataError, HeadwayError, InputError
from ..inspection.build import check_not_blank, inspect_elements, inspect_encoder
from ..inspection.inspection import InspectedOutput, Inspection
from ..inspection.report import CommandUse
from ..metrics.interval import RESAMPLES
from ..metrics.score import Score
from ..run_config import RunConfig
from ..tasks.inputs import Inputs
from ..tasks.text_inputs import BETWEEN
from ..view.report import Sample
from .base import CUT, Logged, TooLong, TrainedModel, location_of
from .evaluation import (
    EvaluationOptions,
    EvaluationReport,
    TimedEvaluation,
    UsableRows,
    scores_to_dict,
    timed,
    usable_rows,
    warn_of_same_outputs,
)
from .input_errors import InputErrors, OnError
from .requests import check_length
from .results import OutputEvaluation
from .series_files import as_csv, corpora_of, without_labels
from .series_inspection import series_read

Input = str | tuple[str, ...]
"""A text, or as many texts as an input has columns."""
SequenceInput = Input | Series | np.ndarray
"""A text, a pair of texts, a series, or the values of one (steps,) or (steps, columns)."""
SequenceOutput = TypeVar("SequenceOutput")


@dataclass(frozen=True)
class Floor:
    """The scores of an output that is the same for every input.

    Attributes:
        output: this output in words.
        scores: by metric.
    """

    output: str
    scores: dict[str, float]

    def __str__(self) -> str:
        scores = (f"{name} {value:.4g}" for name, value in self.scores.items())
        return f"for comparison, always {self.output}: {', '.join(scores)}"


class Predictor(TrainedModel):
    """A model that predicts the last column from the others.

    Attributes:
        line: the line that `format_prediction` returns, in words.
        response: the dataclass whose fields `to_dict` returns.
        digits: decimals of its scores in a table.
    """

    commands: ClassVar[Mapping[str, CommandUse]] = {
        "predict": CommandUse("FILE", "Use it on lines; without FILE, type.")
    }
    evaluation_options = frozenset({"cut", "outputs"})
    scores_by_length = True
    line: ClassVar[str]
    response: ClassVar[type]
    digits: ClassVar[int] = 2

    @property
    @abstractmethod
    def nouns(self) -> tuple[str, str]:
        """The nouns for inputs and outputs, in the plural."""

    @abstractmethod
    def predict(
        self,
        inputs: Iterable[Any],
        too_long: TooLong = "refuse",
        places: Sequence[str] | None = None,
        on_error: OnError = "stop",
    ) -> list[Any]:
        """The prediction for each input, in the order given.

        Args:
            too_long: refuse an input longer than the model reads, with an error that names it, or
                cut it.
            places: names of the inputs in messages, such as `news.en:7`.
            on_error: stop at the first input that cannot be used, or keep going: its result is
                then an `InputError`.
        """

    def to_dict(self, prediction: Any) -> dict[str, Any]:
        """All of a prediction, as plain data."""
        return asdict(prediction)

    @abstractmethod
    def inspect_inputs(self, text: Any) -> tuple[Mapping[str, Tensor], list[InspectedOutput]]:
        """An input as a batch of one, and its outputs, best first."""

    @abstractmethod
    def output(self, prediction: Any) -> Any:
        """The part of a prediction that metrics compare with the reference."""

    @abstractmethod
    def parse_reference(self, reference: str) -> Any:
        """A reference in the form of an output."""

    @abstractmethod
    def format_output(self, output: Any) -> str:
        """An output in one line."""

    def format_prediction(self, prediction: Any) -> str:
        """A prediction in one line, with its probability if it has one."""
        return self.format_output(self.output(prediction))

    @abstractmethod
    def label_space(self) -> dict[str, Any]:
        """The possible outputs, as plain data."""

    @abstractmethod
    def describe_label_space(self) -> str:
        """The possible outputs in a few words, such as "3 labels"; may be empty."""

    def public_info(self) -> dict[str, Any]:
        return {"inputs": list(self.inputs), **self.label_space()}

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns of an input."""
        columns: tuple[str, ...] = self.task.columns
        return columns[:-1]

    def is_blank(self, values: Sequence[Any]) -> bool:
        """Whether all columns of an input are blank."""
        return not any(map(str.strip, values))

    def plain_input(self, values: Sequence[Any]) -> dict[str, Any]:
        """The columns of an input as plain data."""
        return dict(zip(self.inputs, values, strict=True))

    def input(self, values: Sequence[Any]) -> Any:
        """The input from the columns of a row."""
        return values[0] if len(self.inputs) == 1 else tuple(values[: len(self.inputs)])

    @checked
    def inspect(self, text: Input) -> Inspection:
        """The inspection of an input: its outputs, and the attention within it.

        Raises:
            DataError: the input is blank, or too long.
            ConfigError: this is an ensemble.
        """
        model = self.single_model("looking inside")
        if not isinstance(text, str | tuple):
            raise ConfigError(
                "looking inside takes a text or a pair of texts here, and got another value"
            )
        self.length(text, "the text", "shorten it")
        joined = text if isinstance(text, str) else BETWEEN.join(text)
        check_not_blank(not joined.strip())
        batch, outputs = self.inspect_inputs(text)
        tokenizer = self.task.codec.tokenizer
        return inspect_encoder(
            self.task.name, model, joined, tokenizer, batch, outputs, self.background()
        )

    def floor(self, references: Sequence[str], metrics: Iterable[str]) -> Floor | None:
        """The scores of a constant output, for those of the metrics that it has; None if none."""
        return None

    def usual_metrics(self, references: Sequence[Any]) -> Sequence[str]:
        """The metrics unless others are requested."""
        metrics: Sequence[str] = self.task.metrics
        return metrics

    @checked
    def evaluate(
        self,
        inputs: Iterable[Any],
        references: Iterable[str],
        metrics: Sequence[str] | None = None,
        too_long: TooLong = "refuse",
        places: Sequence[str] | None = None,
        resamples: int = RESAMPLES,
    ) -> OutputEvaluation:
        """The scores of predictions against references.

        Args:
            references: values of the last column.
            metrics: by default all metrics of the task that the references allow.

        Raises:
            DataError: a reference is invalid, or does not fit its input.
        """
        inputs, references = list(inputs), list(references)
        self.check_metrics(metrics or ())
        self.check(inputs, references, places)
        predictions = self.predict(inputs, too_long, places)
        outputs = [self.output(prediction) for prediction in predictions]
        expected = [self.parse_reference(reference) for reference in references]
        scores = {
            name: self.task.judge(name, outputs, expected, resamples)
            for name in metrics or self.usual_metrics(expected)
        }
        return OutputEvaluation(scores, [self.format_output(output) for output in outputs])

    def evaluate_corpora(
        self, corpora: Sequence[Corpus], root: Path, options: EvaluationOptions
    ) -> EvaluationReport:
        """Compares predictions with references; rows with a blank input are left out."""
        test = self._test_rows(corpora, root)
        rows = test.rows
        result = self.evaluate(
            [self.input(row.values) for row in rows],
            [row.values[-1] for row in rows],
            options.metrics,
            "cut" if options.cut else "refuse",
            [row.where for row in rows],
        )
        parts = [counted(len(rows), self.nouns[0].removesuffix("s")), self.describe_label_space()]
        record = {"n": len(rows), **self.label_space(), "metrics": scores_to_dict(result.scores)}
        floor = self.floor([row.values[-1] for row in rows], result.scores)
        return EvaluationReport(
            result.scores,
            record | ({} if floor is None else {"floors": floor.scores}),
            ", ".join(filter(None, parts)),
            notes=[] if floor is None else [str(floor)],
            warnings=[
                *test.warnings,
                *warn_of_same_outputs(result.outputs, [row.values[-1] for row in rows]),
            ],
            outputs=test.in_line(result.outputs),
            digits=self.digits,
        )

    def time_evaluation(
        self, corpora: Sequence[Corpus], root: Path, metric: str, tokenized: bool
    ) -> TimedEvaluation:
        test = self._test_rows(corpora, root)
        rows = test.rows
        inputs = [self.input(row.values) for row in rows]
        references, places = [row.values[-1] for row in rows], [row.where for row in rows]
        self.check(inputs, references, places)
        # Refusing a long text here would waste a trained run.
        predictions, seconds = timed(lambda: self.predict(inputs, "cut", places))
        outputs = [self.output(prediction) for prediction in predictions]
        expected = [self.parse_reference(reference) for reference in references]

        def score(chosen: Sequence[int] | None) -> Score:
            numbers = range(len(rows)) if chosen is None else chosen
            result: Score = self.task.judge(
                metric, [outputs[i] for i in numbers], [expected[i] for i in numbers], RESAMPLES
            )
            return result

        texts = self._texts_of(rows)
        steps = [len(row.values[0]) for row in rows] if texts is None else None
        speed = len(rows) / seconds
        return TimedEvaluation(
            score, len(rows), "inputs", speed, self.nouns[0], texts, test.warnings, steps
        )

    def _texts_of(self, rows: Sequence[Row]) -> list[str] | None:
        """The input of each row as one text; None if it is no text."""
        return [" ".join(row.values[:-1]) for row in rows]

    def _test_rows(self, corpora: Sequence[Corpus], root: Path) -> UsableRows:
        """The rows with an input; `check` refuses those without a reference."""
        return usable_rows(corpora, self.task.codecs, root, needed=len(self.inputs))

    def check(
        self, inputs: Sequence[Any], references: Sequence[str], places: Sequence[str] | None = None
    ) -> None:
        """Refuses references that are invalid, or do not fit their inputs.

        Raises:
            DataError: names the first of them.
        """
        if len(inputs) != len(references):
            inputs_noun, outputs_noun = self.nouns
            raise DataError(
                f"{len(inputs)} {inputs_noun} for {len(references)} {outputs_noun}; "
                "expected one for each"
            )
        for number, (text, reference) in enumerate(zip(inputs, references, strict=True)):
            if problem := self._complaint(text, reference):
                raise DataError(f"{self._location(number, places)}: {problem}")

    def _complaint(self, text: Any, reference: str) -> str | None:
        """The problem of a reference, by itself or beside its input."""
        values = (*text, reference) if isinstance(text, tuple | list) else (text, reference)
        row_problem: str | None = self.task.complaint(values)
        codec = self.task.codecs[self.task.columns[-1]]
        reference_problem: str | None = codec.complaint(reference)
        return reference_problem or row_problem

    def _errors(
        self, inputs: Sequence[Any], places: Sequence[str] | None, on_error: OnError
    ) -> InputErrors:
        return InputErrors(inputs, on_error, lambda row: self._location(row, places))

    def _location(self, number: int, places: Sequence[str] | None) -> str:
        return location_of(number, places, self.nouns[0].removesuffix("s"))


class SequencePredictor(Predictor, Generic[SequenceOutput]):
    """A predictor of one output for a text, a pair of texts or a series, as the training data.

    Attributes:
        output_noun: the noun for outputs, in the plural.
    """

    output_noun: ClassVar[str]
    task: Any

    @classmethod
    def commands_for(cls, config: RunConfig) -> Mapping[str, CommandUse]:
        if reads_series(config.make_task().columns):
            return {"predict": CommandUse("FILE", "Use it on the series of a file.")}
        return cls.commands

    @classmethod
    def verbs_for(cls, config: RunConfig) -> set[str]:
        if reads_series(config.make_task().columns):
            return {*cls.commands_for(config), "inspect"}
        return super().verbs_for(config)

    def public_info(self) -> dict[str, Any]:
        return {**super().public_info(), **self._inputs.public_info()}

    def example(self) -> list[str] | None:
        """The first series of the run's newest data as a CSV file; None without the file."""
        if self._inputs.codec is not None:  # the log has the examples of texts
            return None
        [corpus, *_], root = corpora_of(self.config.data, None)
        try:
            row = next(iter(read(without_labels(corpus, self.task.columns), self.inputs, root)))
        except (HeadwayError, StopIteration):  # the data may be elsewhere by now
            return None
        return [as_csv({"target": row.values[0]})]

    @abstractmethod
    def prediction(self, output: np.ndarray) -> SequenceOutput:
        """The prediction from the model's output for one input."""

    @checked
    def predict(
        self,
        inputs: Iterable[SequenceInput | InputError],
        too_long: TooLong = "refuse",
        places: Sequence[str] | None = None,
        on_error: OnError = "stop",
    ) -> list[SequenceOutput]:
        """The prediction for each input, in the order given; for a blank text it is a guess.

        Args:
            inputs: texts; pairs of texts if the training data have pairs; series, or arrays of
                their values (steps, columns), if they have series.
            too_long: refuse a text longer than `data.max_length`, with an error that names it, or
                cut its end off; of a pair, the longer side is cut first.
            places: names of the texts in messages; by default `text 1`, `text 2`, ...
            on_error: as in `Predictor.predict`.
        """
        errors = self._errors(list(inputs), places, on_error)
        encoded = self._encode(list(inputs), too_long, places, errors)
        outputs = self.task.predict(self.model, encoded)
        return errors.with_results(map(self.prediction, outputs))

    def report_samples(self, rows: Sequence[Logged]) -> list[Sample]:
        samples = []
        for text, output, expected in rows:
            logged_input = self._inputs.from_text(text)
            if logged_input is not None:
                [prediction] = self.predict([logged_input], "cut")
                output = self.sample_output(prediction)
            samples.append(Sample(text, output, expected))
        return samples

    @checked
    def inspect(self, text: SequenceInput) -> Inspection:
        """The inspection of an input: its outputs, and the attention within it.

        The elements of a series are its patches, by the numbers of their steps.

        Raises:
            DataError: the input is blank, or too long, or of another type than the training data.
            ConfigError: this is an ensemble.
        """
        model, inputs = self.single_model("looking inside"), self._inputs
        self.length(text, f"the {inputs.noun}", "shorten it")
        title = inputs.title(text)
        check_not_blank(not title.strip())
        [encoded] = inputs.encode([text])
        settings = self.config.model
        names = inputs.element_names(encoded, settings)
        batch, outputs = self.inspect_inputs(text)
        background = self.background()
        inspection = inspect_elements(
            self.task.name, model, title, names, inputs.begin, batch, outputs, background
        )
        series = series_read(inputs, text, encoded, settings, bool(inspection.encoder))
        return replace(inspection, series=series)

    def _texts_of(self, rows: Sequence[Row]) -> list[str] | None:
        return super()._texts_of(rows) if self._inputs.codec is not None else None

    def is_blank(self, values: Sequence[Any]) -> bool:
        return self._inputs.is_blank(values)

    def plain_input(self, values: Sequence[Any]) -> dict[str, Any]:
        return self._inputs.plain(values)

    def sample_output(self, prediction: SequenceOutput) -> str:
        """A prediction as the samples of a report show it."""
        return self.format_output(self.output(prediction))

    @property
    def _inputs(self) -> Inputs:
        inputs: Inputs = self.task.inputs
        return inputs

    @property
    def nouns(self) -> tuple[str, str]:
        return self._inputs.plural, self.output_noun

    def _location(self, number: int, places: Sequence[str] | None) -> str:
        return location_of(number, places, self._inputs.noun)

    def _encode(
        self,
        values: Sequence[Any],
        too_long: TooLong,
        places: Sequence[str] | None,
        errors: InputErrors,
    ) -> list[np.ndarray]:
        """The encoding of each input without an error.

        An input has an error if it is too long, or of another type than those of the training data.
        """
        inputs = self._inputs
        for row in errors.rows:
            with errors.of(row):
                inputs.check(values[row], self._location(row, places))
        rows = errors.rows
        encoded = dict(zip(rows, inputs.encode([values[row] for row in rows]), strict=True))
        for row in rows:
            if not inputs.is_limited:
                break
            if len(encoded[row]) > self.max_length and too_long == "cut":
                encoded[row] = inputs.truncate(values[row], self.max_length)
            with errors.of(row):
                location = self._location(row, places)
                check_length(len(encoded[row]), self.max_length, location, CUT)
        return [encoded[row] for row in errors.rows]

    def length(self, text: Any, location: str, remedy: str) -> int:
        self._inputs.check(text, location)
        [encoded] = self._inputs.encode([text])
        if self._inputs.is_limited:
            check_length(len(encoded), self.max_length, location, remedy)
        return len(encoded)

    def read(self, text: Any) -> dict[str, Tensor]:
        """An input as a batch of one."""
        return self._inputs.tensors(self._inputs.encode([text]))

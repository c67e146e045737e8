"""Trained answerers in use: the part of a text that answers a question.

`predictor.py` evaluates; `tasks/answer.py` reads long texts in windows and ranks the spans.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from torch import Tensor

from ..arguments import checked
from ..data.codecs.spans import answers_of, within
from ..errors import DataError, InputError
from ..inspection.build import scored_output
from ..inspection.inspection import InspectedOutput
from ..tasks.answer import N_BEST, Answer, EncodedQuestion, Guess, Guesses
from ..tasks.answer_windows import tokens_at
from .base import CUT, TooLong
from .input_errors import OnError
from .predictor import Predictor
from .results import Result

NONE = "⟨none⟩"
"""The text of the output that there is no answer."""
Question = tuple[str, str]
"""A question and the text to find its answer in."""


@dataclass(frozen=True)
class AnswerCandidate:
    """A part of the context, from character `start` to before `end`, counted from 0."""

    text: str
    start: int
    end: int
    probability: float


@dataclass(frozen=True)
class AnswerPrediction(Result):
    """The answer to a question.

    Attributes:
        text: the answer; empty if there is none.
        start: its first character in the context, from 0; None if there is no answer.
        end: the character after its last; None if there is no answer.
        probability: probability of the answer, or that there is none.
        none: probability that there is no answer.
        candidates: the likeliest parts of the context, best first, also if there is no answer.
    """

    text: str
    start: int | None
    end: int | None
    probability: float
    none: float
    candidates: list[AnswerCandidate]


@dataclass(frozen=True)
class AnswerResponse:
    """The answer to a question, under a key that tells it from other predictions."""

    answer: AnswerPrediction


class Answerer(Predictor):
    """A model that finds answers in texts, made by `headway.load`."""

    nouns = ("questions", "lists of answers")
    line = "answer, tab, probability"
    response = AnswerResponse
    task: Answer

    def label_space(self) -> dict[str, Any]:
        return {"answers_may_lack": self.task.answers.may_lack}

    def describe_label_space(self) -> str:
        return "may say that there is none" if self.task.answers.may_lack else ""

    @checked
    def predict(
        self,
        inputs: Iterable[Question | InputError],
        too_long: TooLong = "refuse",
        places: Sequence[str] | None = None,
        on_error: OnError = "stop",
    ) -> list[AnswerPrediction]:
        """The answer to each question, in the order given.

        Texts may be of any length: long texts are read in windows.

        Args:
            inputs: questions, each with the text to find the answer in.
            too_long: refuse a question that takes more than half of `data.max_length`, with an
                error that names it, or cut its end off.
            places: names of the questions in messages; by default `question 1`, ...
            on_error: as in `Predictor.predict`.
        """
        questions: list[Any] = list(inputs)
        errors = self._errors(questions, places, on_error)
        for row in errors.rows:
            with errors.of(row):
                _check_question(questions[row], self._location(row, places))
        rows = errors.rows
        encoded = dict(zip(rows, self._encode([questions[row] for row in rows]), strict=True))
        for row in rows if too_long == "refuse" else ():
            with errors.of(row):
                self._check_room(len(encoded[row].question), self._location(row, places), CUT)
        rows = errors.rows
        # Twice as many as are returned: spans that differ by white space alone are merged.
        guesses = self.task.predict(self.model, [encoded[row] for row in rows], 2 * N_BEST)
        texts = [questions[row][1] for row in rows]
        return errors.with_results(map(self._answered, texts, guesses))

    def _encode(self, questions: Sequence[Question]) -> list[EncodedQuestion]:
        return self.task.encode([q for q, _ in questions], [text for _, text in questions])

    def to_dict(self, prediction: AnswerPrediction) -> dict[str, Any]:
        return asdict(AnswerResponse(prediction))

    def length(self, text: Question, location: str, remedy: str) -> int:
        """Number of tokens of question and text, over all windows."""
        _check_question(text, location)
        [encoded] = self.task.encode(text[:1], text[1:])
        self._check_room(len(encoded.question), location, remedy)
        windows = self.task.windows_of(encoded)
        return sum(len(encoded.question) + window.stop - window.start for window in windows)

    def inspect_inputs(self, text: Question) -> tuple[dict[str, Tensor], list[InspectedOutput]]:
        """The first window with the likeliest answer as a batch of one, and all candidates."""
        [answer] = self.predict([text])
        outputs = [
            scored_output(
                candidate.text, candidate.probability, span=(candidate.start, candidate.end)
            )
            for candidate in answer.candidates
        ]
        no_answer = scored_output(NONE, answer.none)
        outputs.insert(0 if answer.start is None else len(outputs), no_answer)
        [encoded] = self.task.encode(text[:1], text[1:])
        best = answer.candidates[:1]
        span = tokens_at(encoded.document[:, 1:], best[0].start, best[0].end) if best else None
        window = self.task.choose_window(self.task.windows_of(encoded), span)
        batch, _ = self.task.tensors([encoded], [window])
        return batch, outputs

    def _check_room(self, length: int, location: str, remedy: str) -> None:
        """Refuses a question that leaves too little room to the text."""
        if 2 * length > self.max_length:
            raise DataError(
                f"{location} has {length} tokens, and of the {self.max_length} that the model "
                f"reads at once half are for the text; {remedy}"
            )

    def _answered(self, text: str, guesses: Guesses) -> AnswerPrediction:
        candidates = _candidates(text, guesses.best)[:N_BEST]
        if self.task.answer(guesses) is None:
            return AnswerPrediction("", None, None, guesses.none, guesses.none, candidates)
        best = candidates[0]
        return AnswerPrediction(
            best.text, best.start, best.end, best.probability, guesses.none, candidates
        )

    def output(self, prediction: AnswerPrediction) -> str:
        return prediction.text

    def parse_reference(self, reference: str) -> list[str]:
        return [span.text for span in answers_of(reference) or []]

    def format_output(self, output: str) -> str:
        return " ".join(output.split())

    def format_prediction(self, prediction: AnswerPrediction) -> str:
        return f"{self.format_output(prediction.text)}\t{prediction.probability:.6f}"

    def usual_metrics(self, references: Sequence[Any]) -> Sequence[str]:
        """All metrics if only some questions have an answer; else those over all questions."""
        has_both = any(references) and not all(references)
        return [name for name in self.task.metrics if has_both or "_" not in name]


def _check_question(question: Any, location: str) -> None:
    if isinstance(question, str) or len(question) != 2:
        raise DataError(f"{location}: expected a question and a text, got {question!r}")


def _candidates(text: str, guesses: Iterable[Guess]) -> list[AnswerCandidate]:
    """The spans of guesses without white space around them, each with its likeliest guess."""
    candidates: dict[tuple[int, int], AnswerCandidate] = {}
    for guess in guesses:
        start, end = span = within(text, guess.start, guess.end)
        candidates.setdefault(span, AnswerCandidate(text[start:end], start, end, guess.probability))
    return list(candidates.values())

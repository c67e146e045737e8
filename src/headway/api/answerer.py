"""Trained runs that answer questions about texts, in use. Typed results, no printing."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from torch import Tensor

from ..data.spans import answers_of, within
from ..errors import DataError
from ..tasks import Answer
from ..tasks.answer import N_BEST, Guess, Guesses
from ..tasks.passages import tokens_at
from .inspecting import told
from .inspection import Inspected
from .predictor import Predictor, TooLong
from .text_predictor import CUT

NONE = "⟨none⟩"
"""How it is called that there is no answer."""
Question = tuple[str, str]
"""A question and the text that holds its answer."""


@dataclass(frozen=True)
class Candidate:
    """A part of the text, from character `start` up to `end`, counted from 0."""

    text: str
    start: int
    end: int
    probability: float


@dataclass(frozen=True)
class Answered:
    """What a question is answered.

    Attributes:
        text: the answer; empty if there is none.
        start: its first character in the text, counted from 0; None if there is none.
        end: the character after its last.
        probability: of the answer, or that there is none.
        none: the probability that there is none.
        candidates: the likeliest parts of the text, best first, whether they are given or not.
    """

    text: str
    start: int | None
    end: int | None
    probability: float
    none: float
    candidates: list[Candidate]


class Answerer(Predictor):
    """A model that finds answers in texts, made by `headway.load`."""

    nouns = ("questions", "lists of answers")
    task: Answer

    def known(self) -> dict[str, Any]:
        return {"answers_may_lack": self.task.answers.may_lack}

    def predict(
        self,
        inputs: Sequence[Question],
        too_long: TooLong = "refuse",
        places: Sequence[str] | None = None,
    ) -> list[Answered]:
        """The answer to each question, in the order given.

        Texts may be of any length: long ones are read in windows.

        Args:
            inputs: questions, each with the text that holds the answer.
            too_long: what to do with a question that leaves less than half of `data.max_length` to
                the text: refuse it, naming its place, or cut it off there.
            places: names of the questions in messages, by default `question 1`, ...
        """
        for number, one in enumerate(inputs):
            _check_question(one, self._place(number, places))
        asked = self.task.encode([q for q, _ in inputs], [text for _, text in inputs])
        if too_long == "refuse":
            for number, encoded in enumerate(asked):
                self._check_room(len(encoded.question), self._place(number, places), CUT)
        # Twice as many as are shown: what differs by white space alone is one part of the text.
        found = self.task.predict(self.model, asked, 2 * N_BEST)
        return [
            self._answered(text, guesses) for (_, text), guesses in zip(inputs, found, strict=True)
        ]

    def record(self, prediction: Answered) -> dict[str, Any]:
        return {"answer": asdict(prediction)}

    def length(self, given: Question, place: str, remedy: str) -> int:
        """Those of all windows in which the text is read."""
        _check_question(given, place)
        [asked] = self.task.encode(given[:1], given[1:])
        self._check_room(len(asked.question), place, remedy)
        windows = self.task.passages(asked)
        return sum(len(asked.question) + window.stop - window.start for window in windows)

    def looked(self, given: Question) -> tuple[dict[str, Tensor], list[Inspected]]:
        """What may be the answer; of several windows the first that holds the likeliest is seen."""
        [found] = self.predict([given])
        outputs = [
            told(one.text, one.probability, span=(one.start, one.end)) for one in found.candidates
        ]
        outputs.insert(0 if found.start is None else len(outputs), told(NONE, found.none))
        [asked] = self.task.encode(given[:1], given[1:])
        best = found.candidates[:1]
        span = tokens_at(asked.document[:, 1:], best[0].start, best[0].end) if best else None
        window = self.task.window(self.task.passages(asked), span)
        batch, _ = self.task.tensors([asked], [window])
        return batch, outputs

    def _check_room(self, length: int, place: str, remedy: str) -> None:
        if 2 * length > self.max_length:
            raise DataError(
                f"{place} has {length} tokens, and of the {self.max_length} that the model reads "
                f"at once half are for the text; {remedy}"
            )

    def _answered(self, text: str, guesses: Guesses) -> Answered:
        candidates = _candidates(text, guesses.best)[:N_BEST]
        if self.task.answer(guesses) is None:
            return Answered("", None, None, guesses.none, guesses.none, candidates)
        best = candidates[0]
        return Answered(best.text, best.start, best.end, best.probability, guesses.none, candidates)

    def output(self, prediction: Answered) -> str:
        return prediction.text

    def right(self, reference: str) -> list[str]:
        return [span.text for span in answers_of(reference) or []]

    def written(self, output: str) -> str:
        return " ".join(output.split())

    def usual_metrics(self, right: Sequence[Any]) -> Sequence[str]:
        """Those of the parts only where there are both kinds of questions."""
        has_both = any(right) and not all(right)
        return [name for name in self.task.metrics if has_both or "_" not in name]


def _check_question(given: Any, place: str) -> None:
    if isinstance(given, str) or len(given) != 2:
        raise DataError(f"{place}: expected a question and a text, got {given!r}")


def _candidates(text: str, guesses: Iterable[Guess]) -> list[Candidate]:
    """Parts of the text without white space around them, the likeliest guess at each."""
    found: dict[tuple[int, int], Candidate] = {}
    for guess in guesses:
        start, end = place = within(text, guess.start, guess.end)
        found.setdefault(place, Candidate(text[start:end], start, end, guess.probability))
    return list(found.values())

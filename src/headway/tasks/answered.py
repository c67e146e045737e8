"""Validation of answers: the loss of every window, and what is answered against what is right."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..data.spans import DocumentCodec, within
from ..data.store import Store
from .decoding import decode_batches
from .loss import Batch, Objective
from .validation import SAMPLES, Validation, Validator

if TYPE_CHECKING:
    from .answer import Answer, Guess


class AnswerValidator(Validator):
    """Loss over all windows of all documents; exact match and F1 of a part of the questions.

    Args:
        sample: how many questions are answered.
    """

    def __init__(self, task: "Answer", store: Store, metric: str, sample: int) -> None:
        super().__init__(metric, task.prefers_less(metric))
        self.task = task
        self.store = store
        n = len(store)
        self.chosen = list(range(0, n, max(1, n // sample)))[:sample]
        self.documents = [self._document(i) for i in self.chosen]
        self.references = [
            [text[start:end] for start, end in store["answers"][i].tolist() if start >= 0]
            for i, text in zip(self.chosen, self.documents, strict=True)
        ]

    def batches(self) -> Iterator[Batch]:
        task, store = self.task, self.store
        windows = [
            (i, window)
            for i in range(len(store))
            for window in task.passages(task.stored(store, i))
        ]
        for rows in decode_batches([window.stop - window.start for _, window in windows], 1):
            chosen = [windows[row] for row in rows]
            asked = [task.stored(store, i) for i, _ in chosen]
            spans = [task.span(store, i) for i, _ in chosen]
            yield task.labelled(asked, [window for _, window in chosen], spans)

    def measure(self, objective: Objective, loss: float, limited: bool) -> Validation:
        task = self.task
        asked = [task.stored(self.store, i) for i in self.chosen]
        outputs = [
            self._text(document, task.answer(guesses))
            for document, guesses in zip(
                self.documents, task.predict(objective.model, asked, 1), strict=True
            )
        ]
        figures = {
            name: task.judge(name, outputs, self.references).value for name in task.validated
        }
        samples = [
            (
                task.question.decode(asked[i].question.tolist()),
                outputs[i],
                " | ".join(dict.fromkeys(self.references[i])),
            )
            for i in range(0, len(asked), max(1, len(asked) // SAMPLES))
        ]
        return Validation(figures, samples[:SAMPLES])

    def _document(self, index: int) -> str:
        return DocumentCodec().decode(self.store["characters"][index])

    @staticmethod
    def _text(document: str, guess: "Guess | None") -> str:
        if guess is None:
            return ""
        start, end = within(document, guess.start, guess.end)
        return document[start:end]

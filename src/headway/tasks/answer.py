"""`task = "answer"`: the span of a document that answers a question.

Question and document are encoded together. Every token gets the probabilities to be the first and
the last token of the answer; the first token of the input, which is not part of the document, means
no answer. Documents that are too long are split into windows. Training uses one window of each
document per epoch, prediction uses all.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from ..data.codecs.codec import Codec
from ..data.codecs.spans import DocumentCodec, PlacedCodec, SpanCodec, answers_of, misplaced, within
from ..data.codecs.text import TextCodec, TextConfig, fit_codec
from ..data.collate import source_batch
from ..data.config import DataConfig
from ..data.store import Store
from ..errors import ConfigError, DataError, batch_in_memory
from ..metrics.answers import ANSWER_METRICS, RightAnswers
from ..metrics.score import Score
from ..models import VocabularySizes
from ..models.ensemble import members_of
from ..parallel import LARGE_INPUTS, decode_batches
from ..search import SearchConfig
from .answer_windows import AnswerWindow, best_spans, document_windows, tokens_at
from .base import SAMPLES, Batch, Objective, Rows, Task, Validation, Validator, device_of, size_of
from .config import AnswerConfig
from .losses import SpanLoss

TWICE = "twice the question"
"""Name of the size that is too long if a question leaves less than half a window."""
N_BEST = 5


class EncodedQuestion(NamedTuple):
    """A question and a document, encoded without special tokens: (n,), and (m, 3) with offsets."""

    question: np.ndarray
    document: np.ndarray


class Guess(NamedTuple):
    """A span of a document from character `start` to `end`, and its probability."""

    start: int
    end: int
    probability: float


@dataclass(frozen=True)
class Guesses:
    """The most likely answers, best first, and the probability that there is none."""

    best: list[Guess]
    none: float


class Answer(Task):
    """The part of a text that answers a question.

    A window has `max_length` tokens, question and special tokens included.

    Attributes:
        answers: codec of the answers; it knows whether a question may have none.
    """

    name = "answer"
    trained_class = "headway.inference.question_answering:Answerer"
    config_class = AnswerConfig
    columns = ("question", "context", "answers")
    split_by = "context"  # which has several questions
    needs = frozenset({"read"})
    family = "encoder"
    lengths = ("window",)
    metric_table = ANSWER_METRICS
    validated = ("f1", "exact")
    derived: Mapping[str, tuple[str, Codec]] = {"characters": ("context", DocumentCodec())}
    config: AnswerConfig
    question: TextCodec
    context: PlacedCodec
    answers: SpanCodec
    _n_special: int

    def with_codecs(self, codec: TextCodec, answers: SpanCodec) -> Self:
        """The task with these codecs."""
        task = self.without_codecs()
        task.codec = codec
        task.question = TextCodec(codec.tokenizer, ends=False)
        task.context = PlacedCodec(task.question)
        task.answers = answers
        task._n_special = len(codec.pair([], [])[0])
        return task

    def fit_codecs(self, rows: Rows, text: TextConfig) -> Self:
        """Trains the tokenizer on questions and documents; records whether answers may lack."""
        if text.dropout:
            raise ConfigError(
                f'text.dropout = {text.dropout:g} has no meaning for task = "answer": answers '
                "are found by their tokens, which dropout would change; leave it out"
            )
        answers = SpanCodec.fit(row[2] for row in rows())
        return self.with_codecs(fit_codec(_texts(rows()), text, reads=True), answers)

    def adopt_codecs(self, folder: Path, rows: Rows) -> Self:
        answers = SpanCodec.fit(row[2] for row in rows())
        return self.with_codecs(TextCodec.load(folder / "tokenizer.json", reads=True), answers)

    def save_codecs(self, folder: Path) -> None:
        """Writes `tokenizer.json` and `answers.json`."""
        self.codec.save(folder / "tokenizer.json")
        self.answers.save(folder / "answers.json")

    def load_codecs(self, folder: Path) -> Self:
        codec = TextCodec.load(folder / "tokenizer.json", reads=True)
        return self.with_codecs(codec, SpanCodec.load(folder / "answers.json"))

    @property
    def codecs(self) -> dict[str, Codec]:
        return {"question": self.question, "context": self.context, "answers": self.answers}

    def complaint(self, values: Sequence[str]) -> str | None:
        """See `data.row_rules`: answers must occur in their documents."""
        _, context, answers = values
        return misplaced(context, answers_of(answers) or [])

    def sizes(self, lengths: Mapping[str, Any]) -> Mapping[str, Any]:
        """See `data.row_rules`: a document counts as one window at most."""
        whole = lengths["question"] + lengths["context"] + self._n_special
        return {"window": np.minimum(whole, self.max_length), TWICE: 2 * lengths["question"]}

    @property
    def vocabularies(self) -> VocabularySizes:
        return VocabularySizes(self.codec.tokenizer.size, 2, shared=False)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "answers_may_lack": self.answers.may_lack}

    def encode(self, questions: Sequence[str], documents: Sequence[str]) -> list[EncodedQuestion]:
        encoded = self.question.encode_batch(questions), self.context.encode_batch(documents)
        return [EncodedQuestion(*pair) for pair in zip(*encoded, strict=True)]

    def stored(self, store: Store, index: int) -> EncodedQuestion:
        """The encoded question and document of an example."""
        return EncodedQuestion(store["question"][index], store["context"][index])

    def windows_of(self, encoded: EncodedQuestion) -> list[AnswerWindow]:
        """The windows of a document, each with room for the question."""
        room = self.max_length - self._n_special - len(self._truncate(encoded.question))
        return document_windows(len(encoded.document), max(1, room), self.config.overlap)

    def _truncate(self, question: np.ndarray) -> np.ndarray:
        """A question cut to half a window; the other half is for the document."""
        return question[: (self.max_length - self._n_special) // 2]

    def tensors(
        self, questions: Sequence[EncodedQuestion], windows: Sequence[AnswerWindow]
    ) -> tuple[dict[str, Tensor], list[int]]:
        """A batch of windows, and the position of the document's first token in each.

        Shape: src, src_valid, segment and allowed (True at tokens of possible answers) (B, S).
        """
        inputs, starts = [], []
        for encoded, window in zip(questions, windows, strict=True):
            question = self._truncate(encoded.question)
            part = encoded.document[window.start : window.stop, 0]
            inputs.append(self.codec.pair(question, part))
            starts.append(len(inputs[-1][0]) - 1 - len(part))
        batch = source_batch([ids for ids, _ in inputs], [segments for _, segments in inputs])
        allowed = torch.zeros(batch["src"].shape, dtype=torch.bool)
        allowed[:, 0] = True
        for row, (start, window) in enumerate(zip(starts, windows, strict=True)):
            allowed[row, start : start + window.stop - window.start] = True
        return {**batch, "allowed": allowed}, starts

    def batch(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None = None
    ) -> dict[str, Tensor]:
        """One window of each example; without `draw`, the first with the answer.

        Shape: as `tensors`; also start and end of the answer in the window (B,).
        """
        questions = [self.stored(store, i) for i in indices]
        spans = [self.span(store, i) for i in indices]
        windows = [
            self.choose_window(
                self.windows_of(encoded), span, None if draw is None else (*draw, int(i))
            )
            for encoded, span, i in zip(questions, spans, indices, strict=True)
        ]
        return self.labelled(questions, windows, spans)

    def span(self, store: Store, index: int) -> tuple[int, int] | None:
        """The first and last token of the most frequent answer (of equals, the first); None if
        there is none."""
        counts = Counter(map(tuple, store["answers"][index].tolist()))
        [((start, end), _)] = counts.most_common(1)
        return None if start < 0 else tokens_at(store["context"][index][:, 1:], start, end)

    def choose_window(
        self,
        windows: Sequence[AnswerWindow],
        span: tuple[int, int] | None,
        key: tuple[int, ...] | None = None,
    ) -> AnswerWindow:
        """The first window with the answer; with a key, a random window drawn from it."""
        with_answer = [window for window in windows if span is None or window.contains(*span)]
        if key is None or len(windows) == 1:
            return with_answer[0] if with_answer else windows[0]
        rng = np.random.default_rng(key)
        others = [window for window in windows if window not in with_answer]
        is_elsewhere = rng.random() < self.config.elsewhere
        chosen = others if others and (is_elsewhere or not with_answer) else with_answer
        return chosen[int(rng.integers(len(chosen)))]

    def labelled(
        self,
        questions: Sequence[EncodedQuestion],
        windows: Sequence[AnswerWindow],
        spans: Sequence[tuple[int, int] | None],
    ) -> dict[str, Tensor]:
        """A batch of windows with the positions of their answers; 0 for a window without one."""
        batch, starts = self.tensors(questions, windows)
        positions = np.zeros((2, len(windows)), np.int64)
        for row, (window, span) in enumerate(zip(windows, spans, strict=True)):
            if span is not None and window.contains(*span):
                positions[:, row] = np.array(span) - window.start + starts[row]
        first, last = torch.from_numpy(positions)
        return {**batch, "start": first, "end": last}

    def objective(self, model: Any, label_smoothing: float) -> SpanLoss:
        return SpanLoss(model, label_smoothing)

    def validator(
        self, store: Store, data: DataConfig, metric: str, sample: int, search: SearchConfig
    ) -> "AnswerValidator":
        return AnswerValidator(self, store, metric, sample)

    @torch.inference_mode()
    def predict(
        self, model: Any, questions: Sequence[EncodedQuestion], n_best: int = N_BEST
    ) -> list[Guesses]:
        """The most likely answers to each question, in their order.

        The probability of a span is that of its first token times that of its last, in the window
        where it is highest. The probability of no answer is the lowest of all windows. An ensemble
        uses the mean of its members' probabilities.
        """
        windows = [(i, w) for i, encoded in enumerate(questions) for w in self.windows_of(encoded)]
        lengths = [
            w.stop - w.start + len(self._truncate(questions[i].question)) for i, w in windows
        ]
        spans: list[dict[tuple[int, int], float]] = [{} for _ in questions]
        none = np.ones(len(questions))
        for rows in decode_batches(lengths, 1):
            chosen = [windows[row] for row in rows]
            batch, starts = self.tensors([questions[i] for i, _ in chosen], [w for _, w in chosen])
            with batch_in_memory("a prediction", *size_of(batch), LARGE_INPUTS):
                probabilities = _mean_probabilities(model, batch)  # (B, S, 2)
            for (i, window), start, values in zip(chosen, starts, probabilities, strict=True):
                none[i] = min(none[i], float(values[0].mean()))
                part = values[start : start + window.stop - window.start]
                offsets = questions[i].document[window.start : window.stop, 1:]
                for guess in self._guesses(part, offsets, n_best):
                    known = spans[i].get(guess[:2], 0.0)
                    spans[i][guess[:2]] = max(known, guess.probability)
        return [_ranked(by_span, n_best, float(p)) for by_span, p in zip(spans, none, strict=True)]

    def _guesses(self, values: np.ndarray, offsets: np.ndarray, n: int) -> Iterator[Guess]:
        """The best guesses in a window. Shape: values (L, 2), offsets (L, 2)."""
        logs = np.log(np.maximum(values, 1e-300))
        for first, last, log_prob in best_spans(logs[:, 0], logs[:, 1], self.config.longest, n):
            yield Guess(int(offsets[first, 0]), int(offsets[last, 1]), float(np.exp(log_prob)))

    def answer(self, guesses: Guesses) -> Guess | None:
        """The best guess; None if the training data have questions without an answer and this one
        likely has none, or if the document is empty."""
        if not guesses.best or (self.answers.may_lack and guesses.none > 0.5):
            return None
        return guesses.best[0]

    def judge(
        self, name: str, outputs: Sequence[str], references: RightAnswers, resamples: int = 0
    ) -> Score:
        """The score of answers against references by one metric; "" means no answer.

        `answered_*` and `unanswered_*` count only the questions with, or without, an answer.
        """
        metric = self.find_metric(name)
        part, _, _ = name.rpartition("_")
        if part:
            is_answered = part == "answered"
            rows = [i for i, answers in enumerate(references) if bool(answers) == is_answered]
            if not rows:
                raise DataError(
                    f"{name} cannot be computed: all questions have "
                    f"{'no' if is_answered else 'an'} answer; leave it out"
                )
            outputs, references = [outputs[i] for i in rows], [references[i] for i in rows]
        score = metric(outputs, references, resamples=resamples)
        if not part:
            return score
        signature = f"{score.signature}|questions:{part}"
        return replace(score, name=f"{part} {score.name}", signature=signature)


def _texts(rows: Iterator[Sequence[str]]) -> Iterator[str]:
    """Questions and documents; a document with several consecutive questions occurs once."""
    previous = None
    for question, context, *_ in rows:
        yield question
        if context != previous:
            yield context
        previous = context


def _mean_probabilities(model: Any, batch: Batch) -> np.ndarray:
    """The probability that a token is the first or the last of the answer. Shape: (B, S, 2)."""
    device = device_of(model)
    moved = {name: value.to(device) for name, value in batch.items()}
    by_member = []
    for member in members_of(model):
        logits = member.token_logits(moved).double()  # (B, S, 2)
        by_member.append(logits.masked_fill(~moved["allowed"][:, :, None], -torch.inf).softmax(1))
    mean: np.ndarray = torch.stack(by_member).mean(0).cpu().numpy()
    return mean


def _ranked(spans: Mapping[tuple[int, int], float], n: int, none: float) -> Guesses:
    best = sorted((Guess(*span, value) for span, value in spans.items()), key=lambda g: -g[2])
    return Guesses(best[:n], none)


class AnswerValidator(Validator):
    """Loss over all windows of all documents; exact match and F1 of a sample of the questions.

    Args:
        sample: number of questions to answer.
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
            for window in task.windows_of(task.stored(store, i))
        ]
        for rows in decode_batches([window.stop - window.start for _, window in windows], 1):
            chosen = [windows[row] for row in rows]
            questions = [task.stored(store, i) for i, _ in chosen]
            spans = [task.span(store, i) for i, _ in chosen]
            yield task.labelled(questions, [window for _, window in chosen], spans)

    def measure(self, objective: Objective, loss: float, limited: bool) -> Validation:
        task = self.task
        questions = [task.stored(self.store, i) for i in self.chosen]
        outputs = [
            self._text(document, task.answer(guesses))
            for document, guesses in zip(
                self.documents, task.predict(objective.model, questions, 1), strict=True
            )
        ]
        figures = {
            name: task.judge(name, outputs, self.references).value for name in task.validated
        }
        samples = [
            (
                task.question.decode(questions[i].question.tolist()),
                outputs[i],
                " | ".join(dict.fromkeys(self.references[i])),
            )
            for i in range(0, len(questions), max(1, len(questions) // SAMPLES))
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

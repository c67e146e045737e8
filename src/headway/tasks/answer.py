"""The part of a document that answers a question: what `task = "answer"` means.

Question and document are read together, and every token gets the probability to be the first and
the last one of the answer. The place for no answer is the first token of all, which is none of the
document. Documents that are too long are read in windows; training sees one window of each document
in an epoch, prediction all of them.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import torch
from annotated_types import Ge, Le, Lt
from torch import Tensor

from ..data.codecs import Codec, TextCodec, TextConfig, learn_codec
from ..data.collate import source_batch
from ..data.corpora import DataConfig
from ..data.spans import DocumentCodec, PlacedCodec, SpanCodec, answers_of, misplaced
from ..data.store import Store
from ..errors import ConfigError, DataError
from ..metrics.answers import RightAnswers, answer_f1, exact_answers
from ..metrics.score import Score
from ..models import Vocabularies
from ..search import SearchConfig
from .answered import AnswerValidator
from .decoding import decode_batches
from .loss import Batch
from .members import members_of
from .passages import Passage, best_spans, passages, tokens_at
from .span_loss import SpanLoss
from .task import Rows, Task
from .validation import device_of

TWICE = "twice the question"
"""What is too long if a question leaves less than half a window to the document."""
N_BEST = 5


@dataclass(frozen=True)
class AnswerConfig:
    """How answers are looked for in documents."""

    overlap: Annotated[float, Ge(0), Lt(1)] = 0.5
    """A document that does not fit into `data.max_length` together with the question is read in
    several windows; this part of each is repeated by the next."""
    elsewhere: Annotated[float, Ge(0), Le(1)] = 0.1
    """How often training looks at a window of such a document without the answer, from which it
    learns to find none there."""
    longest: Annotated[int, Ge(1)] = 30
    """The longest answer that is given, in tokens."""


class Asked(NamedTuple):
    """A question and a document, encoded without marks: (n,), and (m, 3) with places."""

    question: np.ndarray
    document: np.ndarray


class Guess(NamedTuple):
    """A part of a document from character `start` to `end`, and its probability."""

    start: int
    end: int
    probability: float


@dataclass(frozen=True)
class Guesses:
    """What may be the answer, best first, and the probability that there is none."""

    best: list[Guess]
    none: float


class Answer(Task):
    """The task with its codecs.

    Attributes:
        how: the settings; `settled` makes a class that has them.
        size: tokens of a window, question and marks included.

    Args:
        answers: codec of the answers, which knows whether there may be none.
    """

    name = "answer"
    columns = ("question", "context", "answers")
    needs = frozenset({"read"})
    family = "encoder"
    lengths = ("window",)
    metrics = ("f1", "exact", "answered_f1", "answered_exact", "unanswered_exact")
    validated = ("f1", "exact")
    how: ClassVar[AnswerConfig] = AnswerConfig()
    size: ClassVar[int] = DataConfig.max_length

    def __init__(self, codec: TextCodec, answers: SpanCodec) -> None:
        self.codec = codec
        self.question = TextCodec(codec.tokenizer, ends=False)
        self.context = PlacedCodec(self.question)
        self.answers = answers
        self.derived = {"characters": ("context", DocumentCodec())}
        self._n_marks = len(codec.pair([], [])[0])

    @classmethod
    def settled(cls, how: AnswerConfig, size: int) -> "type[Answer]":
        """The same task with its settings."""
        own = {"how": how, "size": size, "__module__": cls.__module__}
        return type(cls.__name__, (cls,), own)

    @classmethod
    def learn(cls, rows: Rows, text: TextConfig) -> "Answer":  # type: ignore[override]
        """Learns the tokenizer from questions and documents, and whether answers may lack."""
        if text.dropout:
            raise ConfigError(
                f'text.dropout = {text.dropout:g} has no meaning for task = "answer": answers '
                "are told in tokens, which then have to stay the same; leave it out"
            )
        answers = SpanCodec.learn(row[2] for row in rows())
        return cls(learn_codec(_texts(rows()), text, reads=True), answers)

    @classmethod
    def adopt(cls, folder: Path, rows: Rows) -> "Answer":
        answers = SpanCodec.learn(row[2] for row in rows())
        return cls(TextCodec.load(folder / "tokenizer.json", reads=True), answers)

    def save(self, folder: Path) -> None:
        """`tokenizer.json` and `answers.json`."""
        self.codec.save(folder / "tokenizer.json")
        self.answers.save(folder / "answers.json")

    @classmethod
    def load(cls, folder: Path) -> "Answer":
        codec = TextCodec.load(folder / "tokenizer.json", reads=True)
        return cls(codec, SpanCodec.load(folder / "answers.json"))

    @property
    def codecs(self) -> dict[str, Codec]:
        return {"question": self.question, "context": self.context, "answers": self.answers}

    def complaint(self, values: Sequence[str]) -> str | None:
        """As `data.rules` has it: answers stand in their documents."""
        _, context, answers = values
        return misplaced(context, answers_of(answers) or [])

    def sizes(self, lengths: Mapping[str, Any]) -> Mapping[str, Any]:
        """As `data.rules` has it: a document takes no more than one window at a time."""
        whole = lengths["question"] + lengths["context"] + self._n_marks
        return {"window": np.minimum(whole, self.size), TWICE: 2 * lengths["question"]}

    @property
    def vocabularies(self) -> Vocabularies:
        return Vocabularies(self.codec.tokenizer.size, 2, shared=False)

    def describe(self) -> dict[str, Any]:
        return {
            "kind": self.codec.tokenizer.settings.kind,
            "source": self.vocabularies.source,
            "target": 2,
            "shared": False,
            "answers_may_lack": self.answers.may_lack,
        }

    def encode(self, questions: Sequence[str], documents: Sequence[str]) -> list[Asked]:
        encoded = self.question.encode_batch(questions), self.context.encode_batch(documents)
        return [Asked(*pair) for pair in zip(*encoded, strict=True)]

    def stored(self, store: Store, index: int) -> Asked:
        """The same of an example."""
        return Asked(store["question"][index], store["context"][index])

    def passages(self, asked: Asked) -> list[Passage]:
        """The windows in which a document is read with a question."""
        room = self.size - self._n_marks - len(self._cut(asked.question))
        return passages(len(asked.document), max(1, room), self.how.overlap)

    def _cut(self, question: np.ndarray) -> np.ndarray:
        """A question that leaves room: half of a window is for the document."""
        return question[: (self.size - self._n_marks) // 2]

    def tensors(
        self, asked: Sequence[Asked], windows: Sequence[Passage]
    ) -> tuple[dict[str, Tensor], list[int]]:
        """A batch of windows, and where in each the document begins.

        Shape: src, src_valid, segment and allowed, which is where answers may be told, (B, S).
        """
        framed, starts = [], []
        for one, window in zip(asked, windows, strict=True):
            question = self._cut(one.question)
            part = one.document[window.start : window.stop, 0]
            framed.append(self.codec.pair(question, part))
            starts.append(len(framed[-1][0]) - 1 - len(part))
        batch = source_batch([ids for ids, _ in framed], [segments for _, segments in framed])
        allowed = torch.zeros(batch["src"].shape, dtype=torch.bool)
        allowed[:, 0] = True
        for row, (start, window) in enumerate(zip(starts, windows, strict=True)):
            allowed[row, start : start + window.stop - window.start] = True
        return {**batch, "allowed": allowed}, starts

    def batch(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None = None
    ) -> dict[str, Tensor]:
        """One window of each example; without `draw` the first with the answer.

        Shape: as `tensors`, and start and end of the answer in the window (B,).
        """
        asked = [self.stored(store, i) for i in indices]
        spans = [self.span(store, i) for i in indices]
        windows = [
            self.window(self.passages(one), span, None if draw is None else (*draw, int(i)))
            for one, span, i in zip(asked, spans, indices, strict=True)
        ]
        return self.labelled(asked, windows, spans)

    def span(self, store: Store, index: int) -> tuple[int, int] | None:
        """The tokens of the answer that most people gave, of equals the first; None if there is
        none."""
        counts = Counter(map(tuple, store["answers"][index].tolist()))
        [((start, end), _)] = counts.most_common(1)
        return None if start < 0 else tokens_at(store["context"][index][:, 1:], start, end)

    def window(
        self,
        windows: Sequence[Passage],
        span: tuple[int, int] | None,
        key: tuple[int, ...] | None = None,
    ) -> Passage:
        """The first window with an answer; with a key one that it decides."""
        holding = [window for window in windows if span is None or window.holds(*span)]
        if key is None or len(windows) == 1:
            return holding[0] if holding else windows[0]
        rng = np.random.default_rng(key)
        others = [window for window in windows if window not in holding]
        is_elsewhere = rng.random() < self.how.elsewhere
        chosen = others if others and (is_elsewhere or not holding) else holding
        return chosen[int(rng.integers(len(chosen)))]

    def labelled(
        self,
        asked: Sequence[Asked],
        windows: Sequence[Passage],
        spans: Sequence[tuple[int, int] | None],
    ) -> dict[str, Tensor]:
        """A batch of windows with the places of their answers; 0 where a window has none."""
        batch, starts = self.tensors(asked, windows)
        ends = np.zeros((2, len(windows)), np.int64)
        for row, (window, span) in enumerate(zip(windows, spans, strict=True)):
            if span is not None and window.holds(*span):
                ends[:, row] = np.array(span) - window.start + starts[row]
        return {**batch, "start": torch.from_numpy(ends[0]), "end": torch.from_numpy(ends[1])}

    def objective(self, model: Any, label_smoothing: float) -> SpanLoss:
        return SpanLoss(model, label_smoothing)

    def validator(
        self, store: Store, data: DataConfig, metric: str, sample: int, search: SearchConfig
    ) -> AnswerValidator:
        return AnswerValidator(self, store, metric, sample)

    @torch.inference_mode()
    def predict(self, model: Any, asked: Sequence[Asked], n_best: int = N_BEST) -> list[Guesses]:
        """The likeliest answers to each question, in the order given.

        The probability of a part of a document is that of its first token times that of its last,
        in the window that likes it best. That there is no answer is as likely as the window says
        that is least sure of it. An ensemble takes the mean of its members' probabilities.
        """
        windows = [(i, window) for i, one in enumerate(asked) for window in self.passages(one)]
        lengths = [
            window.stop - window.start + len(self._cut(asked[i].question)) for i, window in windows
        ]
        found: list[dict[tuple[int, int], float]] = [{} for _ in asked]
        none = np.ones(len(asked))
        for rows in decode_batches(lengths, 1):
            chosen = [windows[row] for row in rows]
            batch, begins = self.tensors([asked[i] for i, _ in chosen], [w for _, w in chosen])
            probabilities = _mean_probabilities(model, batch)  # (B, S, 2)
            for (i, window), begin, values in zip(chosen, begins, probabilities, strict=True):
                none[i] = min(none[i], float(values[0].mean()))
                part = values[begin : begin + window.stop - window.start]
                places = asked[i].document[window.start : window.stop, 1:]
                for guess in self._guesses(part, places, n_best):
                    known = found[i].get(guess[:2], 0.0)
                    found[i][guess[:2]] = max(known, guess.probability)
        return [_ranked(one, n_best, float(value)) for one, value in zip(found, none, strict=True)]

    def _guesses(self, values: np.ndarray, places: np.ndarray, n: int) -> Iterator[Guess]:
        """Of one window. Shape: values (L, 2), places (L, 2)."""
        logs = np.log(np.maximum(values, 1e-300))
        for first, last, log_prob in best_spans(logs[:, 0], logs[:, 1], self.how.longest, n):
            yield Guess(int(places[first, 0]), int(places[last, 1]), float(np.exp(log_prob)))

    def answer(self, guesses: Guesses) -> Guess | None:
        """The best guess; None if the training data have questions without an answer and this one
        likely has none, or if the document is empty."""
        if not guesses.best or (self.answers.may_lack and guesses.none > 0.5):
            return None
        return guesses.best[0]

    def judge(
        self, name: str, outputs: Sequence[str], references: RightAnswers, resamples: int = 0
    ) -> Score:
        """One metric of answers against the right ones; "" is that there is none.

        `answered_f1` and its like are those of the questions with an answer, or without one.
        """
        if name not in self.metrics:
            raise self.unknown_metric(name)
        part, _, figure = name.rpartition("_")
        if part:
            wanted = part == "answered"
            rows = [i for i, right in enumerate(references) if bool(right) == wanted]
            if not rows:
                raise DataError(
                    f"no {name} can be told: all of the questions have "
                    f"{'no' if wanted else 'an'} answer; leave it out"
                )
            outputs, references = [outputs[i] for i in rows], [references[i] for i in rows]
        if figure == "exact":
            score = exact_answers(outputs, references)
        else:
            score = answer_f1(outputs, references, resamples)
        if not part:
            return score
        signature = f"{score.signature}|questions:{part}"
        return replace(score, name=f"{part} {score.name}", signature=signature)


def _texts(rows: Iterator[Sequence[str]]) -> Iterator[str]:
    """Questions and documents, each document once where it is asked about several times."""
    before = None
    for question, context, *_ in rows:
        yield question
        if context != before:
            yield context
        before = context


def _mean_probabilities(model: Any, batch: Batch) -> np.ndarray:
    """Of each token to be the first and the last one of the answer. Shape: (B, S, 2)."""
    device = device_of(model)
    moved = {name: value.to(device) for name, value in batch.items()}
    each = []
    for one in members_of(model):
        logits = one.token_logits(moved).double()  # (B, S, 2)
        each.append(logits.masked_fill(~moved["allowed"][:, :, None], -torch.inf).softmax(1))
    mean: np.ndarray = torch.stack(each).mean(0).cpu().numpy()
    return mean


def _ranked(found: Mapping[tuple[int, int], float], n: int, none: float) -> Guesses:
    best = sorted((Guess(*place, value) for place, value in found.items()), key=lambda g: -g[2])
    return Guesses(best[:n], none)

"""The codecs of documents and of the answers in them: places, from one character to another.

Answers are written as SQuAD writes them, `[{"text": "Paris", "answer_start": 17}]`, or as one
object of two lists; several are all right, `[]` is that the document has no answer.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from headway.data.codecs import TextCodec
from headway.data.store import Column
from headway.errors import RunError

NOWHERE = (-1, -1)
"""What stands in the store for a question without an answer."""
EXAMPLE = '[{"text": "Paris", "answer_start": 17}], or [] where there is none'
SHOWN = 40


class Span(NamedTuple):
    """What a document says from character `start` on, counted from 0."""

    start: int
    text: str

    @property
    def end(self) -> int:
        """The character after the last."""
        return self.start + len(self.text)


class SpanCodec:
    """Answers as pairs of start and end, in characters.

    What is no list of answers encodes to nothing, and `complaint` says why. Whether they stand in
    their document is for `misplaced` to say, which has both.

    Args:
        may_lack: whether the training data have questions without an answer.
    """

    marks = 0

    def __init__(self, may_lack: bool) -> None:
        self.may_lack = may_lack

    @classmethod
    def learn(cls, texts: Iterable[str]) -> "SpanCodec":
        return cls(any(answers_of(text) == [] for text in texts))

    def column(self, name: str) -> Column:
        return Column(name, "int32", (2,))

    def clean(self, text: str) -> str:
        answers = answers_of(text)
        return text.strip() if answers is None else json.dumps(answers)

    def encode_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
        found = []
        for answers in map(answers_of, texts):
            spans = (
                [] if answers is None else [(one.start, one.end) for one in answers] or [NOWHERE]
            )
            found.append(np.array(spans, np.int32).reshape(-1, 2))
        return found

    def decode(self, values: Sequence[Any] | np.ndarray) -> str:
        return json.dumps([[int(start), int(end)] for start, end in values if start >= 0])

    def complaint(self, text: str) -> str | None:
        if answers_of(text) is not None:
            return None
        if not text.strip():
            return f"the answers are empty; expected JSON such as {EXAMPLE}"
        return f"{_shortened(text.strip())} are no answers; expected JSON such as {EXAMPLE}"

    def fingerprint(self) -> str:
        return hashlib.blake2b(b"spans of characters", digest_size=16).hexdigest()

    def save(self, path: Path) -> None:
        path.write_text(json.dumps({"may_lack": self.may_lack}) + "\n", "utf-8")

    @classmethod
    def load(cls, path: Path) -> "SpanCodec":
        try:
            may_lack = json.loads(path.read_text("utf-8"))["may_lack"]
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise RunError(f"{path} cannot be read ({error}); restore it from a copy") from None
        return cls(bool(may_lack))


class PlacedCodec:
    """A document as tokens without marks, each with the characters at which it stands.

    Shape of an encoding: (n, 3): id, start, end.
    """

    marks = 0

    def __init__(self, codec: TextCodec) -> None:
        self.codec = codec

    def column(self, name: str) -> Column:
        return Column(name, "int32", (3,))

    def clean(self, text: str) -> str:
        return self.codec.clean(text)

    def encode_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
        found: list[np.ndarray] = []
        for i, text in enumerate(texts):
            # The questions about a document follow each other.
            is_same = i > 0 and text == texts[i - 1]
            found.append(found[-1] if is_same else self.encode(text))
        return found

    def encode(self, text: str) -> np.ndarray:
        ids, places = self.codec.tokenizer.encode_spans(text)
        rows = [(i, *place) for i, place in zip(ids, places, strict=True)]
        return np.array(rows, np.int32).reshape(-1, 3)

    def decode(self, values: Sequence[Any] | np.ndarray) -> str:
        return self.codec.decode([int(value[0]) for value in values])

    def complaint(self, text: str) -> str | None:
        """A document without tokens is a blank, which is left out."""
        return None

    def fingerprint(self) -> str:
        content = f"placed {self.codec.fingerprint()}"
        return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


class DocumentCodec:
    """A document as its UTF-8 bytes, so that what a span says can be told."""

    marks = 0

    def column(self, name: str) -> Column:
        return Column(name, "uint8")

    def clean(self, text: str) -> str:
        return text

    def encode_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
        return [np.frombuffer(text.encode(), np.uint8) for text in texts]

    def decode(self, values: Sequence[Any] | np.ndarray) -> str:
        return np.asarray(values, np.uint8).tobytes().decode()

    def complaint(self, text: str) -> str | None:
        return None

    def fingerprint(self) -> str:
        return hashlib.blake2b(b"bytes of utf-8", digest_size=16).hexdigest()


def answers_of(text: str) -> list[Span] | None:
    """The answers that a text holds; None if it holds something else."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(given, dict):
        texts, starts = given.get("text"), given.get("answer_start")
        if not isinstance(texts, list) or not isinstance(starts, list) or len(texts) != len(starts):
            return None
        given = [{"text": t, "answer_start": s} for t, s in zip(texts, starts, strict=True)]
    if not isinstance(given, list):
        return None
    found = [_span(entry) for entry in given]
    return None if None in found else found  # type: ignore[return-value]


def _span(entry: object) -> Span | None:
    if not isinstance(entry, dict):
        return None
    start, text = entry.get("answer_start"), entry.get("text")
    if not isinstance(start, int) or isinstance(start, bool):
        return None
    return Span(start, text) if isinstance(text, str) and text.strip() else None


def misplaced(document: str, answers: Sequence[Span]) -> str | None:
    """What is wrong with answers that do not stand where they should."""
    for start, text in answers:
        shown = _shortened(text)
        end = start + len(text)
        if start < 0 or end > len(document):
            return (
                f"the answer {shown} at characters {start} to {end} is outside its document, "
                f"which has {len(document)}; count answer_start in characters from 0"
            )
        if document[start:end] != text:
            there = _shortened(document[start:end])
            return (
                f"the answer {shown} is not at character {start} of its document, where {there} "
                "stands; count answer_start in characters from 0"
            )
    return None


def within(document: str, start: int, end: int) -> tuple[int, int]:
    """A part of a document without the white space around it, which its tokens may hold."""
    part = document[start:end]
    start += len(part) - len(part.lstrip())
    return start, start + len(part.strip())


def _shortened(text: str) -> str:
    return repr(text if len(text) <= SHOWN else text[: SHOWN - 3] + "...")

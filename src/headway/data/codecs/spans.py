"""The codecs of documents and of the answers in them, which are spans of characters.

Answers are written as in SQuAD, `[{"text": "Paris", "answer_start": 17}]`, or as one object of two
lists. Each of several answers is right; `[]` means that the document has no answer.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...errors import RunError
from ...file_limits import parse_json
from ..store import Column
from .codec import WrittenCodec
from .text import TextCodec

NOWHERE = (-1, -1)
"""The span of a question without an answer, in the store."""
LARGEST = np.iinfo(np.int32).max
"""The largest position that the store can hold."""
EXAMPLE = '[{"text": "Paris", "answer_start": 17}], or [] where there is none'
SHOWN = 40


class Span(NamedTuple):
    """A piece of a document from character `start` on, counted from 0."""

    start: int
    text: str

    @property
    def end(self) -> int:
        """The character after the last."""
        return self.start + len(self.text)


class SpanCodec(WrittenCodec):
    """Answers as pairs of start and end, in characters.

    A text that is no list of answers encodes to an empty array, and `complaint` gives the reason.
    Whether the answers occur in their document is checked by `misplaced`.

    Args:
        may_lack: whether the training data have questions without an answer.
    """

    marks = 0

    def __init__(self, may_lack: bool) -> None:
        self.may_lack = may_lack

    @classmethod
    def fit(cls, texts: Iterable[str]) -> "SpanCodec":
        return cls(any(answers_of(text) == [] for text in texts))

    def column(self, name: str) -> Column:
        return Column(name, "int32", (2,))

    def clean(self, text: str) -> str:
        answers = answers_of(text)
        return text.strip() if answers is None else json.dumps(answers)

    def encode_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
        encoded = []
        for answers in map(answers_of, texts):
            spans = [] if answers is None else [(a.start, a.end) for a in answers] or [NOWHERE]
            encoded.append(np.array(spans, np.int32).reshape(-1, 2))
        return encoded

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


class PlacedCodec(WrittenCodec):
    """A document as tokens without special tokens, each with its span of characters.

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
        encoded: list[np.ndarray] = []
        for i, text in enumerate(texts):
            # Questions about the same document follow each other.
            is_same = i > 0 and text == texts[i - 1]
            encoded.append(encoded[-1] if is_same else self.encode(text))
        return encoded

    def encode(self, text: str) -> np.ndarray:
        ids, spans = self.codec.tokenizer.encode_spans(text)
        rows = [(i, *span) for i, span in zip(ids, spans, strict=True)]
        return np.array(rows, np.int32).reshape(-1, 3)

    def decode(self, values: Sequence[Any] | np.ndarray) -> str:
        return self.codec.decode([int(value[0]) for value in values])

    def complaint(self, text: str) -> str | None:
        """None: a document without tokens is blank, and blank rows are dropped."""
        return None

    def fingerprint(self) -> str:
        content = f"placed {self.codec.fingerprint()}"
        return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


class DocumentCodec(WrittenCodec):
    """A document as its UTF-8 bytes, from which the text of a span can be cut."""

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
    """The answers in a JSON text; None if it is something else."""
    try:
        content = parse_json(text)
    except ValueError:
        return None
    if isinstance(content, dict):
        texts, starts = content.get("text"), content.get("answer_start")
        if not isinstance(texts, list) or not isinstance(starts, list) or len(texts) != len(starts):
            return None
        content = [{"text": t, "answer_start": s} for t, s in zip(texts, starts, strict=True)]
    if not isinstance(content, list):
        return None
    spans = [_span(entry) for entry in content]
    return None if None in spans else spans  # type: ignore[return-value]


def _span(entry: object) -> Span | None:
    if not isinstance(entry, dict):
        return None
    start, text = entry.get("answer_start"), entry.get("text")
    if not isinstance(start, int) or isinstance(start, bool):
        return None
    if not isinstance(text, str) or not text.strip():
        return None
    return Span(start, text) if abs(start) + len(text) <= LARGEST else None


def misplaced(document: str, answers: Sequence[Span]) -> str | None:
    """The error message for an answer that is not at its position; None if all are."""
    for start, text in answers:
        answer = _shortened(text)
        end = start + len(text)
        if start < 0 or end > len(document):
            return (
                f"the answer {answer} at characters {start} to {end} is outside its document, "
                f"which has {len(document)}; count answer_start in characters from 0"
            )
        if document[start:end] != text:
            there = _shortened(document[start:end])
            return (
                f"the answer {answer} is not at character {start} of its document, where {there} "
                "is; count answer_start in characters from 0"
            )
    return None


def within(document: str, start: int, end: int) -> tuple[int, int]:
    """The span without surrounding white space, which its tokens may include."""
    part = document[start:end]
    start += len(part) - len(part.lstrip())
    return start, start + len(part.strip())


def _shortened(text: str) -> str:
    return repr(text if len(text) <= SHOWN else text[: SHOWN - 3] + "...")

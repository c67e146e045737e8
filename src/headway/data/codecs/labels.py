"""The codec of labels: the class names of the training data as numbers."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from ...errors import DataError, RunError
from ..store import Column, integers
from .codec import WrittenCodec

SHOWN = 10
MOST = 1 << 16
"""The most labels that can be classes."""


class LabelCodec(WrittenCodec):
    """Labels as numbers from 0; surrounding white space is ignored.

    `fit` sorts the labels by name. An unknown label encodes to an empty array, and `complaint`
    gives the reason.
    """

    marks = 0

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = tuple(labels)
        self._numbers = {label: number for number, label in enumerate(self.labels)}

    @classmethod
    def fit(cls, texts: Iterable[str]) -> "LabelCodec":
        """The codec of the labels that occur.

        Raises:
            DataError: there is only one label, or there are too many to be classes.
        """
        names: set[str] = set()
        for text in texts:
            names.add(text.strip())
            if len(names) > MOST:
                raise DataError(
                    f"the training data have more than {MOST} different labels, which cannot be "
                    "classes; is another column the label?"
                )
        labels = sorted(names - {""})
        if len(labels) == 1:
            raise DataError(
                f"all training examples have the label {labels[0]!r}, and there is nothing to tell "
                "apart; give examples of at least two labels"
            )
        return cls(labels)

    def __len__(self) -> int:
        return len(self.labels)

    def column(self, name: str) -> Column:
        return integers(name, len(self.labels))

    def clean(self, text: str) -> str:
        return text.strip()

    def encode_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
        dtype = self.column("").dtype
        numbers = (self._numbers.get(text.strip()) for text in texts)
        return [np.array([] if number is None else [number], dtype) for number in numbers]

    def decode(self, values: Sequence[int]) -> str:
        [number] = values
        return self.labels[int(number)]

    def complaint(self, text: str) -> str | None:
        label = text.strip()
        if label in self._numbers:
            return None
        if not label:
            return "the label is empty; give one, or leave the line out"
        near = get_close_matches(label, self.labels, n=1, cutoff=0.6)
        hint = name_hint(near[0] if near else None, self.labels)
        return f"the training data have no label {label!r}; {hint}"

    def suspicions(self, counts: np.ndarray) -> list[str]:
        """Lines about labels that are probably mistakes.

        Args:
            counts: the number of examples of each label.
        """
        n_examples, n_labels = int(counts.sum()), int((counts > 0).sum())
        if (counts == 1).sum() * 2 > n_examples:
            return [f"{n_labels} labels for {n_examples} examples: is another column the label?"]
        lines = [
            f"label {label!r} ({n} example{'s' * (n != 1)}) differs from {other!r} ({n_other}) "
            f"only in {_difference(label, other)}"
            for (label, n), (other, n_other) in self._variants(counts)
        ]
        more = len(lines) - SHOWN
        return lines[:SHOWN] + ([f"{more} more labels differ only so"] if more > 0 else [])

    def _variants(self, counts: np.ndarray) -> Iterator[tuple[tuple[str, int], tuple[str, int]]]:
        """Labels that differ from a more frequent one only in case or white space, with it."""
        frequent: dict[str, tuple[str, int]] = {}
        for number in np.argsort(-counts, kind="stable").tolist():
            label = self.labels[number], int(counts[number])
            other = frequent.setdefault("".join(label[0].split()).casefold(), label)
            if other != label:
                yield label, other

    def fingerprint(self) -> str:
        return hashlib.blake2b(json.dumps(self.labels).encode(), digest_size=16).hexdigest()

    def save(self, path: Path) -> None:
        """Writes a JSON list in the order of the numbers."""
        path.write_text(json.dumps(self.labels, ensure_ascii=False, indent=1) + "\n", "utf-8")

    @classmethod
    def load(cls, path: Path) -> "LabelCodec":
        try:
            labels = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise RunError(f"{path} cannot be read ({error}); restore it from a copy") from None
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise RunError(f"{path} is no list of labels; restore it from a copy")
        return cls(labels)


def _difference(label: str, other: str) -> str:
    """In what two labels differ that are equal but for case and white space."""
    if label.casefold() == other.casefold():
        return "case"
    is_space = "".join(label.split()) == "".join(other.split())
    return "white space" if is_space else "case and white space"


def name_hint(near: str | None, names: Sequence[str]) -> str:
    """Advice about an unknown name: the most similar known one, or else the first few."""
    if near is not None:
        return f"did you mean {near!r}?"
    more = ", ..." if len(names) > SHOWN else ""
    return f"expected one of {', '.join(names[:SHOWN])}{more}"

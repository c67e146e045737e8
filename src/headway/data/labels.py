"""The codec of a label: one of a few names that the training data have, as its number."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from headway.data.store import Column, integers
from headway.errors import DataError, RunError

SHOWN = 10
MOST = 1 << 16
"""More different labels than this are no classes."""


class LabelCodec:
    """Labels as numbers from 0; white space around one does not count.

    Those that are learned stand in the order of their names. A label that is not known encodes to
    nothing, and `complaint` says why.
    """

    marks = 0

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = tuple(labels)
        self._numbers = {label: number for number, label in enumerate(self.labels)}

    @classmethod
    def learn(cls, texts: Iterable[str]) -> "LabelCodec":
        """The labels that occur.

        Raises:
            DataError: they are all the same, or too many to be classes.
        """
        found: set[str] = set()
        for text in texts:
            found.add(text.strip())
            if len(found) > MOST:
                raise DataError(
                    f"the training data have more than {MOST} different labels, which cannot be "
                    "classes; is another column the label?"
                )
        labels = sorted(found - {""})
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
        if near:
            hint = f"did you mean {near[0]!r}?"
        else:
            more = ", ..." if len(self.labels) > SHOWN else ""
            hint = f"expected one of {', '.join(self.labels[:SHOWN])}{more}"
        return f"the training data have no label {label!r}; {hint}"

    def fingerprint(self) -> str:
        return hashlib.blake2b(json.dumps(self.labels).encode(), digest_size=16).hexdigest()

    def save(self, path: Path) -> None:
        """A JSON list, in the order of the numbers."""
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

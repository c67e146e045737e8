"""The interface of codecs: what `prepare`, the leak check and messages ask of a column's values.

A value is whatever its codec knows: a text, a number as text, a series. Only the codec knows when
one is blank, how much it holds and which values are equal.
"""

from collections.abc import Hashable, Sequence
from typing import Any, Protocol

import numpy as np

from ..store import Column


class Codec(Protocol):
    """A codec as `prepare` uses it."""

    @property
    def marks(self) -> int:
        """Number of special tokens in each encoding."""

    def column(self, name: str) -> Column:
        """The column of the store for this codec's encodings."""

    def is_blank(self, value: Any) -> bool:
        """Whether there is nothing in a value."""

    def amount(self, value: Any) -> int:
        """How much a value holds, such as its characters; bounds the memory of a chunk of rows."""

    def identity(self, value: Any) -> Hashable:
        """Equal for two values if the leak check takes them for the same."""

    def encode_batch(self, values: Sequence[Any]) -> list[np.ndarray]:
        """One array per value."""

    def decode(self, values: Sequence[Any]) -> str:
        """The text of one array."""

    def complaint(self, value: Any) -> str | None:
        """The error message for a value that encodes to nothing; None if it is blank."""

    def fingerprint(self) -> str:
        """A hash; two codecs share it only if they encode alike."""


class WrittenCodec:
    """The part of a codec that is the same for all values written as text."""

    def clean(self, text: str) -> str:
        """The text after normalisation (Unicode, lower case, ...), as it is encoded."""
        return text

    def is_blank(self, text: str) -> bool:
        return not text.strip()

    def amount(self, text: str) -> int:
        return len(text)

    def identity(self, text: str) -> str:
        return self.clean(text).strip()

"""Rules about several columns of a row: their consistency, joint length and derived columns.

The task chooses the rules; rules about one column are left to its codec.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from .codecs.codec import Codec


class RowRules(Protocol):
    """Rules that `prepare` and batches apply, beside those of each column's codec."""

    @property
    def derived(self) -> Mapping[str, tuple[str, Codec]]:
        """Further columns of the store: by name, the column each is made from and its codec."""

    def complaint(self, values: Sequence[str]) -> str | None:
        """The error message for a row whose columns are inconsistent; None if they are fine."""

    def sizes(self, lengths: Mapping[str, Any]) -> Mapping[str, Any]:
        """The lengths that `max_length` limits, by their names in messages.

        Args:
            lengths: the length of each column: of a single row, or arrays for many rows.
        """


class IndependentColumns:
    """No rules: columns are independent of each other."""

    derived: Mapping[str, tuple[str, Codec]] = {}

    def complaint(self, values: Sequence[str]) -> str | None:
        return None

    def sizes(self, lengths: Mapping[str, Any]) -> Mapping[str, Any]:
        return lengths

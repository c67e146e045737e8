"""What concerns several columns of a row at once: whether they fit each other, how long they are
together, what else the store keeps of them. Which rules hold is the task's choice."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from headway.data.codecs import Codec


class Rules(Protocol):
    """What `prepare` and batches ask, beside what each codec knows of its own column."""

    @property
    def derived(self) -> Mapping[str, tuple[str, Codec]]:
        """Further columns of the store by name, each from a column of the row by another codec."""

    def complaint(self, values: Sequence[str]) -> str | None:
        """What is wrong with a row whose columns do not fit each other."""

    def sizes(self, lengths: Mapping[str, Any]) -> Mapping[str, Any]:
        """What may be too long, by the name that messages give it, from the lengths of columns.

        Args:
            lengths: of a single row, or arrays for many rows at once.
        """


class Apart:
    """Columns that have nothing to do with each other."""

    derived: Mapping[str, tuple[str, Codec]] = {}

    def complaint(self, values: Sequence[str]) -> str | None:
        return None

    def sizes(self, lengths: Mapping[str, Any]) -> Mapping[str, Any]:
        return lengths

"""What a study found, in the forms that all studies share: text, page, record, picture.

Plain data in, text out; measuring is left to the studies.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..view.text_table import aligned, piped


@dataclass(frozen=True)
class FindingTable:
    """Rows of text, the first of them the heading of the columns; `caption` says what they are."""

    rows: Sequence[Sequence[str]]
    caption: str = ""


@dataclass(frozen=True)
class Finding:
    """The result of a study.

    Attributes:
        study: its name, which the files are named after.
        claim: what was measured, in a sentence.
        notes: what a reader of the figures has to know.
        figures: everything that was measured, for scripts.
        picture: SVG.
    """

    study: str
    claim: str
    tables: tuple[FindingTable, ...]
    notes: tuple[str, ...]
    picture: str
    figures: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The form scripts read."""
        return {"study": self.study, **self.figures}

    def text(self) -> str:
        """For a terminal."""
        parts = [self.claim]
        for table in self.tables:
            lines = "\n".join(aligned(table.rows))
            parts.append(f"{table.caption}\n{lines}" if table.caption else lines)
        return "\n\n".join([*parts, "\n".join(self.notes)])

    def markdown(self) -> str:
        """For a page, with the picture that lies beside it."""
        parts = [self.claim, f"![{self.claim}]({self.study}.svg)"]
        for table in self.tables:
            lines = "\n".join(piped(table.rows))
            parts.append(f"{table.caption}\n\n{lines}" if table.caption else lines)
        return "\n\n".join([*parts, "\n".join(f"- {note}" for note in self.notes)]) + "\n"

"""`Finding`: the result of a study as text, page, record and picture.

Plain data in, text out; the studies measure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..view.text_table import aligned, piped


@dataclass(frozen=True)
class FindingTable:
    """Rows of text; the first row is the header, `caption` the title."""

    rows: Sequence[Sequence[str]]
    caption: str = ""


@dataclass(frozen=True)
class Finding:
    """The result of a study.

    Attributes:
        study: its name, also of its files.
        claim: the measured quantity, in one sentence.
        notes: remarks for the reader of the tables.
        figures: all measurements, as plain data.
        picture: an SVG drawing.
    """

    study: str
    claim: str
    tables: tuple[FindingTable, ...]
    notes: tuple[str, ...]
    picture: str
    figures: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain data."""
        return {"study": self.study, **self.figures}

    def text(self) -> str:
        """The finding for a terminal."""
        parts = [self.claim]
        for table in self.tables:
            lines = "\n".join(aligned(table.rows))
            parts.append(f"{table.caption}\n{lines}" if table.caption else lines)
        return "\n\n".join([*parts, "\n".join(self.notes)])

    def markdown(self) -> str:
        """The finding as a page, with a link to the picture in the same folder."""
        parts = [self.claim, f"![{self.claim}]({self.study}.svg)"]
        for table in self.tables:
            lines = "\n".join(piped(table.rows))
            parts.append(f"{table.caption}\n\n{lines}" if table.caption else lines)
        return "\n\n".join([*parts, "\n".join(f"- {note}" for note in self.notes)]) + "\n"

"""The types of file formats: the row of `FORMATS`, and a reader's input and output."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ...errors import DataError

PLACES_SHOWN = 3
ColumnEntry = str | int | list[str] | None
"""A corpus's entry for a column: a name, a number (1 is the first, -1 the last), several names of
columns of series, or None."""


@dataclass(frozen=True)
class Note:
    """Something that was found in a series, or done to it."""

    text: str
    count: int = 0
    """How often; 0 for a fact that is not counted."""
    places: tuple[str, ...] = ()
    """`file:line` of the first few."""
    is_expected: bool = False
    """Whether the data are as they should be, so that no one needs a warning."""

    @property
    def is_warning(self) -> bool:
        """Whether values or rows are not as they should be."""
        return self.count > 0 and not self.is_expected

    def __str__(self) -> str:
        counted = f"{self.count:,} {self.text}" if self.count else self.text
        if not self.places:
            return counted
        more = ", ..." if self.count > len(self.places) else ""
        return f"{counted} ({', '.join(self.places)}{more})"


def add_notes(total: dict[str, Note], notes: Sequence[Note]) -> None:
    """Adds notes to a total by text, each with the count and the first places of all."""
    for note in notes:
        before = total.get(note.text, Note(note.text, 0, ()))
        places = (*before.places, *note.places)[:PLACES_SHOWN]
        count = before.count + note.count
        total[note.text] = Note(note.text, count, places, note.is_expected)


class UnknownStep(DataError):
    """A series has too few rows to show how far apart its times are."""


class RepeatedTime(DataError):
    """Two rows of a series have one time and other values.

    Attributes:
        problem: the message without what a run file can do about it.
    """

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}; remove one, or {remedy}")
        self.problem = problem


class Row(NamedTuple):
    """One example: its values in the order of the requested columns, and its location."""

    values: tuple[Any, ...]
    """Texts or `Series`: what the codecs of the columns take."""
    where: str
    """`file:line`, for messages."""
    notes: tuple[Note, ...] = ()


def counted_notes(rows: Iterable[Row]) -> list[Note]:
    """The notes of rows that count something, each with the count of all."""
    notes: dict[str, Note] = {}
    for row in rows:
        add_notes(notes, row.notes)
    return [note for note in notes.values() if note.count]


@dataclass(frozen=True)
class SeriesOptions:
    """The fields of a corpus of the same names, which say how series are read.

    Attributes:
        unread: columns that the corpus names for another use, such as labels of a file that is
            read without them; the file need not have them.
        most_steps: the most steps that the series of a file may have with those that no row is
            for; None is a generous number.
    """

    id: str | int | None = None
    time: str | int | list[str] | None = None
    frequency: str | None = None
    missing: Literal["mask", "fill", "error"] = "mask"
    repeated: Literal["error", "first", "last", "mean"] = "error"
    unread: tuple[str | int, ...] = ()
    most_steps: int | None = None


@dataclass(frozen=True)
class CorpusFiles:
    """A corpus as a reader gets it.

    Attributes:
        files: each with its name in the run file and its path; several only if each column has its
            own file, or if the second one is the history of series.
        columns: the task's columns in order, each with the corpus's entry.
        part: begin and end of the part to read, as shares; only for readers with `takes_parts`.
        separator, inner: separators of pronunciation lists.
        options: how series are read.
    """

    files: list[tuple[str, Path]]
    columns: Mapping[str, ColumnEntry]
    part: tuple[float, float] | None = None
    separator: str | None = None
    inner: str | None = None
    options: SeriesOptions = SeriesOptions()

    @property
    def name(self) -> str:
        """The name, in messages, of the file with all columns."""
        return self.files[0][0]

    @property
    def path(self) -> Path:
        """The file with all columns."""
        return self.files[0][1]

    @property
    def blank(self) -> tuple[str, ...]:
        """The values of a blank line."""
        return ("",) * len(self.columns)


@dataclass(frozen=True)
class FileFormat:
    """A row of `FORMATS`.

    Attributes:
        meaning: its description in the reference of the run file.
        read: streams the rows of a corpus.
        extensions: file extensions by which `format = "auto"` recognises it.
        columns: whether a file holds `all` columns of the task, `one`, or `each` has its own file.
        header: reads the column names from the first line that is not blank; None if the columns
            of the format have no names.
        rows: `examples`; `documents` of any length, which are cut into blocks; `pieces` of one
            running text, which is cut into blocks and whose parts are counted in characters; or
            `series`, for tasks about vectors.
        takes_parts: whether the reader itself selects the requested part of a corpus.
    """

    meaning: str
    read: Callable[[CorpusFiles], Iterator[Row]]
    extensions: tuple[str, ...] = ()
    columns: Literal["all", "one", "each"] = "all"
    header: Callable[[str], Collection[str]] | None = None
    rows: Literal["examples", "documents", "pieces", "series"] = "examples"
    takes_parts: bool = False

    @property
    def is_cut(self) -> bool:
        """Whether texts may have any length and are cut into blocks."""
        return self.rows in ("documents", "pieces")

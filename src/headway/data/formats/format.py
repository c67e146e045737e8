"""The types of file formats: the row of `FORMATS`, and a reader's input and output."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ...errors import DataError
from ..date_order import DateOrder

PLACES_SHOWN = 3
ColumnEntry = str | int | list[str] | None
"""A corpus's entry for a column: a name, a number (1 is the first, -1 the last), several names of
columns of series, or None."""


_PLURAL = re.compile(r"(missing )?(rows|times|values|steps|columns)\b")


@dataclass(frozen=True)
class Note:
    """Something that was found in a series, or done to it."""

    text: str
    """With a count, it begins with a noun in the plural."""
    count: int = 0
    """How often; 0 for a fact that is not counted."""
    places: tuple[str, ...] = ()
    """`file:line` of the first few."""
    is_expected: bool = False
    """Whether the data are as they should be, though it is counted."""
    is_doubtful: bool = False
    """Whether a fact that is not counted questions the data."""

    @property
    def is_warning(self) -> bool:
        """Whether the data may not be as they should be."""
        return self.is_doubtful or (self.count > 0 and not self.is_expected)

    def __str__(self) -> str:
        text = self.text
        if self.count == 1 and (noun := _PLURAL.match(text)):
            text = noun[0][:-1] + text[noun.end() :].replace(" that share ", " that shares ", 1)
        counted = f"{self.count:,} {text}" if self.count else text
        if not self.places:
            return counted
        more = ", ..." if self.count > len(self.places) else ""
        return f"{counted} ({', '.join(self.places)}{more})"


def add_notes(total: dict[str, Note], notes: Sequence[Note]) -> None:
    """Adds notes to a total by text, each with the count and the first places of all."""
    for note in notes:
        before = total.get(note.text, Note(note.text, 0, ()))
        places = (*before.places, *note.places)[:PLACES_SHOWN]
        total[note.text] = replace(note, count=before.count + note.count, places=places)


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


@dataclass(frozen=True)
class TableFacts:
    """How a table of series was read.

    Attributes:
        columns: the use of each column, for the log.
        order: the order of day and month; None if the times have no such form.
    """

    columns: str
    order: DateOrder | None = None


class Row(NamedTuple):
    """One example: its values in the order of the requested columns, and its location."""

    values: tuple[Any, ...]
    """Texts or `Series`: what the codecs of the columns take."""
    where: str
    """`file:line`, for messages."""
    notes: tuple[Note, ...] = ()
    facts: TableFacts | None = None
    """How the table of a series was read."""


def notes_of(rows: Iterable[Row]) -> list[Note]:
    """The notes of rows that count something or warn, each with the count of all."""
    notes: dict[str, Note] = {}
    for row in rows:
        add_notes(notes, row.notes)
    return [note for note in notes.values() if note.count or note.is_warning]


@dataclass(frozen=True)
class SeriesOptions:
    """The fields of a corpus of the same names, which say how series are read.

    Attributes:
        unread: columns that the corpus names for another use, such as labels of a file that is
            read without them; the file need not have them.
        names: the columns that a trained model reads, by column of the task: read wherever the
            header has them. Entries that the header does not have are then left open.
        most_steps: the most steps that the series of a file may have with those that no row is
            for; None is a generous number.
    """

    id: str | int | None = None
    time: str | int | list[str] | None = None
    frequency: str | None = None
    day_first: bool | None = None
    aggregate: Literal["mean", "sum"] = "mean"
    missing: Literal["mask", "fill", "error"] = "mask"
    repeated: Literal["error", "first", "last", "mean"] = "error"
    unread: tuple[str | int, ...] = ()
    names: Mapping[str, tuple[str, ...]] | None = None
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

"""The types of file formats: the row of `FORMATS`, and a reader's input and output."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple


class Row(NamedTuple):
    """One example: its values in the order of the requested columns, and its location."""

    values: tuple[str, ...]
    where: str
    """`file:line`, for messages."""


@dataclass(frozen=True)
class CorpusFiles:
    """A corpus as a reader gets it.

    Attributes:
        files: each with its name in the run file and its path; several only if each column has its
            own file.
        columns: the task's columns in order, each with the corpus's entry: a name, a number (1 is
            the first, -1 the last) or None.
        part: begin and end of the part to read, as shares; only for readers with `takes_parts`.
        separator, inner: separators of pronunciation lists.
    """

    files: list[tuple[str, Path]]
    columns: Mapping[str, str | int | None]
    part: tuple[float, float] | None = None
    separator: str | None = None
    inner: str | None = None

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
        rows: `examples`; `documents` of any length, which are cut into blocks; or `pieces` of one
            running text, which is cut into blocks and whose parts are counted in characters.
        takes_parts: whether the reader itself selects the requested part of a corpus.
    """

    meaning: str
    read: Callable[[CorpusFiles], Iterator[Row]]
    extensions: tuple[str, ...] = ()
    columns: Literal["all", "one", "each"] = "all"
    header: Callable[[str], Collection[str]] | None = None
    rows: Literal["examples", "documents", "pieces"] = "examples"
    takes_parts: bool = False

    @property
    def is_cut(self) -> bool:
        """Whether texts may have any length and are cut into blocks."""
        return self.rows != "examples"

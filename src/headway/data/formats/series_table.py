"""A table of series in memory: its columns as text or arrays, and the numbers in them."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np

from ...errors import DataError
from ..times import looks_dated
from .columns import check_width, listed
from .lines import read_lines

MISSING = frozenset({"", "na", "nan", "n/a", "null", "none", "-", "?"})
"""Texts of missing values, in lower case."""
_DECIMAL_COMMA = re.compile(r"[+-]?\d{1,3}(\.\d{3})*,\d+|[+-]?\d+,\d+")

CHUNK_ROWS = 10_000

Cells = Sequence[str] | np.ndarray
"""Cells of a column: texts, numbers (NaN if missing) or `datetime64[s]`."""


@dataclass(frozen=True)
class SeriesTable:
    """The columns of a file, or of two that follow each other.

    Attributes:
        parts: for each file, what its places begin with (`file:`), and the number of each row.
    """

    header: list[str]
    columns: list[Cells]
    parts: list[tuple[str, np.ndarray]]

    def __len__(self) -> int:
        return sum(len(numbers) for _, numbers in self.parts)

    @property
    def where(self) -> str:
        """The place of the header."""
        prefix = self.parts[-1][0]
        return f"{prefix}1" if prefix.endswith(":") else prefix.removesuffix(": row ")

    def place(self, row: int) -> str:
        """`file:line` of a row."""
        for prefix, numbers in self.parts:
            if row < len(numbers):
                return f"{prefix}{numbers[row]}"
            row -= len(numbers)
        raise IndexError(row)

    def after(self, earlier: "SeriesTable", used: Sequence[int]) -> "SeriesTable":
        """The rows of an earlier table and then those of this one; other columns stay short."""
        columns = list(self.columns)
        for i in used:
            name = self.header[i]
            if name not in earlier.header:
                raise DataError(
                    f"{earlier.where}: no column {name!r}, which the later file has; the header "
                    f"has {listed(earlier.header)}"
                )
            columns[i] = _joined(earlier.columns[earlier.header.index(name)], columns[i])
        return SeriesTable(self.header, columns, earlier.parts + self.parts)

    def texts(self, column: int) -> Sequence[str]:
        """The cells of a column as text; "" if missing."""
        return as_texts(self.columns[column])

    def numbers(self, column: int) -> np.ndarray:
        """The numbers of a column, NaN where they are missing.

        Raises:
            DataError: a cell is text, or infinite.
        """
        cells = self.columns[column]
        numbers, is_text = parse_numbers(cells)
        is_wrong = is_text | np.isinf(numbers)
        if is_wrong.any():
            i = int(is_wrong.argmax())
            self.refuse_cell(i, column)
        return numbers

    def refuse_cell(self, row: int, column: int) -> None:
        """Raises the error of a cell that is no number."""
        text = as_texts(self.columns[column][row : row + 1])[0]
        raise DataError(
            f"{self.place(row)}: {text!r} in column {self.header[column]!r} {wrong_number(text)}"
        )

    def is_numeric(self, column: int) -> bool:
        """Whether at least half of the cells that are not missing are numbers.

        Raises:
            DataError: the numbers have decimal commas.
        """
        cells = self.columns[column]
        if isinstance(cells, np.ndarray):
            return cells.dtype.kind == "f"
        numbers, is_text = parse_numbers(cells)
        n_text = int(is_text.sum())
        if 2 * n_text <= len(cells) - int(np.isnan(numbers).sum()) + n_text:
            return True
        first = int(is_text.argmax())
        if _DECIMAL_COMMA.fullmatch(cells[first].strip()):
            self.refuse_cell(first, column)
        return False


def wrong_number(text: str) -> str:
    """The end of a message about a cell that is no number."""
    if np.isinf(parse_numbers([text])[0][0]):
        return "is infinite; expected a finite number, or an empty cell if it is missing"
    if _DECIMAL_COMMA.fullmatch(text.strip()):
        return "is no number; write a point for the decimal comma (1.5)"
    return "is no number; correct it, or leave the cell empty if the value is missing"


def _joined(first: Cells, second: Cells) -> Cells:
    arrays = [cells for cells in (first, second) if isinstance(cells, np.ndarray)]
    if len(arrays) == 2 and arrays[0].dtype.kind == arrays[1].dtype.kind:
        return np.concatenate(arrays)
    return [*as_texts(first), *as_texts(second)]


def as_texts(cells: Cells) -> Sequence[str]:
    """Cells as text; "" for missing ones."""
    if not isinstance(cells, np.ndarray):
        return cells
    if cells.dtype.kind == "f":
        return ["" if x != x else repr(int(x) if x.is_integer() else x) for x in cells.tolist()]
    return ["" if x == "NaT" else x for x in map(str, cells)]


def parse_numbers(cells: Cells) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of cells, NaN for missing values and text, and which cells are text."""
    if isinstance(cells, np.ndarray):
        if cells.dtype.kind == "f":
            return cells, np.zeros(len(cells), bool)
        return np.full(len(cells), np.nan), ~np.isnat(cells)
    try:
        numbers = np.fromiter(map(float, cells), float, len(cells))
        if "_" not in "".join(cells):  # which Python allows between digits
            return numbers, np.zeros(len(cells), bool)
    except ValueError:
        pass
    return _parse_slowly(cells)


def _parse_slowly(cells: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    known: dict[str, float | None] = {text: _number(text) for text in set(cells)}
    found = [known[text] for text in cells]
    is_text = np.fromiter((number is None for number in found), bool, len(found))
    numbers = np.fromiter((np.nan if x is None else x for x in found), float, len(found))
    return numbers, is_text


def _number(text: str) -> float | None:
    """The number of a cell, NaN if it is missing, None if it is text."""
    if text.strip().lower() in MISSING:
        return np.nan
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def separator_of(line: str) -> str:
    """The separator of a table by its first line: a comma, a tab or a semicolon."""
    return max(",\t;", key=line.count)


def split_rows(path: Path, name: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a text table that are not blank, each with the number of its first line.

    Raises:
        DataError: quotation marks are not closed or not doubled.
    """
    lines = iter(read_lines(path, name))
    first = next(lines, "")
    both = chain([first], lines)
    reader = csv.reader((line + "\n" for line in both), delimiter=separator_of(first), strict=True)
    number = 1
    try:
        for fields in reader:
            if any(map(str.strip, fields)):
                yield number, fields
            number = reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"{name}:{number}: not valid CSV ({error}); is a quotation mark left open or not "
            "doubled?"
        ) from None


def is_number(text: str) -> bool:
    return not parse_numbers([text])[1][0]


def has_names(fields: list[str]) -> bool:
    """Whether the first row of a table holds names: not all cells are numbers or dates."""
    return not all(is_number(text) or looks_dated(text) for text in fields)


def read_table(path: Path, name: str) -> SeriesTable:
    """A table of commas, tabs or semicolons; columns without names are numbered from 1.

    Raises:
        DataError: it is no table, or has no rows.
    """
    rows = split_rows(path, name)
    start = next(rows, None)
    if start is None:
        raise DataError(f"{name} is empty; expected a header line and rows of values")
    header = [str(i) for i in range(1, len(start[1]) + 1)]
    if has_names(start[1]):
        header = [text.strip() for text in start[1]]
    else:
        rows = chain([start], rows)
    numbers: list[int] = []
    columns: list[list[str]] = [[] for _ in header]
    while chunk := list(islice(rows, CHUNK_ROWS)):  # lists of rows are larger than columns
        _check_widths(chunk, len(header), name)
        numbers += (number for number, _ in chunk)
        for column, cells in zip(
            columns, zip(*(row for _, row in chunk), strict=True), strict=True
        ):
            column.extend(cells)
    if not numbers:
        raise DataError(f"{name}: there are no rows below the header; is the file complete?")
    return SeriesTable(header, list(columns), [(f"{name}:", np.array(numbers))])


def _check_widths(rows: list[tuple[int, list[str]]], width: int, name: str) -> None:
    for number, fields in rows:
        if len(fields) != width:
            check_width(fields, width, f"{name}:{number}")

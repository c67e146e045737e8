"""A table of series in memory: its columns as text or arrays, and the numbers in them."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

import numpy as np

from ...errors import DataError
from ..times import looks_dated
from .columns import check_width, listed
from .decimal_commas import Commas, are_grouped, comma_number, find_commas, without_groups
from .lines import read_lines, wrong_encoding

MISSING = frozenset({"", "na", "nan", "n/a", "null", "none", "-", "?"})
"""Texts of missing values, in lower case."""
_COMMA_OF_NUMBER = re.compile(r"(?<=\d),(?=\d)")
CHUNK_ROWS = 10_000
NUL = "\0"

Cells = Sequence[str] | np.ndarray
"""Cells of a column: texts, numbers (NaN if missing) or `datetime64[s]`."""


@dataclass(frozen=True)
class SeriesTable:
    """The columns of a file, or of two that follow each other.

    Attributes:
        parts: for each file, what its places begin with (`file:`), and the number of each row.
        separator: the separator of the file; a comma if it has none.
        parsed: the columns that have been parsed as numbers.
    """

    header: list[str]
    columns: list[Cells]
    parts: list[tuple[str, np.ndarray]]
    separator: str = ","
    parsed: dict[int, "ParsedColumn"] = field(default_factory=dict, repr=False, compare=False)

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
        return SeriesTable(self.header, columns, earlier.parts + self.parts, self.separator)

    def texts(self, column: int) -> Sequence[str]:
        """The cells of a column as text; "" if missing."""
        return as_texts(self.columns[column])

    def numbers(self, column: int) -> np.ndarray:
        """The numbers of a column, NaN where they are missing.

        Raises:
            DataError: a cell is text, or infinite, or its number is not clear.
        """
        found = self._parsed(column)
        is_wrong = found.is_text | np.isinf(found.numbers)
        if is_wrong.any():
            i = int(is_wrong.argmax())
            self.refuse_cell(i, column)
        return found.numbers

    def plain_texts(self, column: int) -> Sequence[str]:
        """The cells of a column as text, numbers with a decimal point."""
        found = self._parsed(column)
        texts = self.texts(column)
        if not found.is_rewritten:
            return texts
        numbers = zip(texts, found.numbers.tolist(), strict=True)
        return [text if number != number else repr(number) for text, number in numbers]

    def number_notes(self, columns: Iterable[int]) -> list[str]:
        """How the numbers of columns were read, where the text alone does not show it."""
        parsed = (self.parsed.get(column) for column in columns)
        return [found.note for found in parsed if found is not None and found.note]

    def refuse_cell(self, row: int, column: int) -> None:
        """Raises the error of a cell that is no number."""
        text = as_texts(self.columns[column][row : row + 1])[0]
        raise DataError(
            f"{self.place(row)}: {text!r} in column {self.header[column]!r} {wrong_number(text)}"
        )

    def is_numeric(self, column: int) -> bool:
        """Whether at least half of the cells that are not missing are numbers.

        Raises:
            DataError: it is not clear what the numbers are.
        """
        cells = self.columns[column]
        if isinstance(cells, np.ndarray):
            return cells.dtype.kind == "f"
        found = self._parsed(column)
        n_text = int(found.is_text.sum())
        return 2 * n_text <= len(cells) - int(np.isnan(found.numbers).sum()) + n_text

    def _parsed(self, column: int) -> "ParsedColumn":
        """The numbers of a column, which is parsed once."""
        if column not in self.parsed:
            self.parsed[column] = self._parse(column)
        return self.parsed[column]

    def _parse(self, column: int) -> "ParsedColumn":
        cells, name = self.columns[column], repr(self.header[column])
        numbers, is_text = parse_numbers(cells)
        if isinstance(cells, np.ndarray):
            return ParsedColumn(numbers, is_text)
        if is_text.any():
            commas = find_commas(cells, {text: _number(text) for text in set(cells)})
            if commas is None:
                return ParsedColumn(numbers, is_text)
            self._check_commas(commas, column)
            note = f"decimal commas in column {name}"
            return ParsedColumn(commas.numbers, commas.is_text, note, is_rewritten=True)
        if self.separator == "," or not are_grouped(cells, numbers):
            return ParsedColumn(numbers, is_text)
        if any(self._has_commas(i) for i in range(len(self.header)) if i != column):
            note = f"points between thousands in column {name}, as others have decimal commas"
            return ParsedColumn(without_groups(cells, numbers), is_text, note, is_rewritten=True)
        return ParsedColumn(numbers, is_text, f"decimal points in column {name}")

    def _has_commas(self, column: int) -> bool:
        """Whether the numbers of a column have decimal commas."""
        cells = self.columns[column]
        if isinstance(cells, np.ndarray) or not any("," in cell for cell in cells):
            return False
        return find_commas(cells, {text: _number(text) for text in set(cells)}) is not None

    def _check_commas(self, commas: Commas, column: int) -> None:
        """Refuses a column with both decimal commas and points, or with commas of two meanings."""
        texts, name = as_texts(self.columns[column]), repr(self.header[column])
        first = f"{self.place(commas.first)}: {texts[commas.first]!r} in column {name}"
        if commas.pointed is not None:
            raise DataError(
                f"{first} has a decimal comma or groups of digits, and "
                f"{self.place(commas.pointed)} has {texts[commas.pointed]!r}; write all numbers of "
                "a column in one way"
            )
        if commas.is_unclear and self.separator != ";":
            plain = texts[commas.first].strip()
            raise DataError(
                f"{first} may be {plain.replace(',', '')} or {plain.replace(',', '.')}; write one "
                "of these"
            )


@dataclass(frozen=True)
class ParsedColumn:
    """The numbers of a column, NaN for missing values and text.

    Attributes:
        is_text: which cells are text.
        note: how the numbers were read; "" if that is plain.
        is_rewritten: whether the cells have other marks than a decimal point.
    """

    numbers: np.ndarray
    is_text: np.ndarray
    note: str = ""
    is_rewritten: bool = False


def wrong_number(text: str) -> str:
    """The end of a message about a cell that is no number."""
    if np.isinf(parse_numbers([text])[0][0]):
        return "is infinite; expected a finite number, or an empty cell if it is missing"
    if "," in text and comma_number(text) is not None:
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
    """The separator of a table by its first line: a comma, a tab or a semicolon.

    Where there are others, commas between digits are those of numbers.
    """
    if "\t" in line or ";" in line:
        line = _COMMA_OF_NUMBER.sub("", line)
    return max(",\t;", key=line.count)


def split_rows(path: Path, name: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a text table that are not blank, each with the number of its first line.

    Raises:
        DataError: quotation marks are not closed or not doubled.
    """
    lines = iter(read_lines(path, name))
    first = next(lines, "")
    if NUL in first[:2]:
        raise DataError(f"{name} {wrong_encoding('UTF-16BE' if first[0] == NUL else 'UTF-16LE')}")
    if "\r" in first:
        raise DataError(
            f"{name}:1: lines end with CR alone; convert the file: tr '\\r' '\\n' < FILE > NEW"
        )
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
    """Whether a text is a number, with a decimal point or comma, or a missing value."""
    return not parse_numbers([text])[1][0] or comma_number(text) is not None


def has_names(fields: list[str]) -> bool:
    """Whether the first row of a table holds names: not all cells are numbers or dates."""
    return not all(is_number(text) or looks_dated(text) for text in fields)


def read_table(path: Path, name: str) -> SeriesTable:
    """A table of commas, tabs or semicolons; columns without names are numbered from 1.

    Raises:
        DataError: it is no table, or has no rows.
    """
    separator = _separator_in(path, name)
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
    return SeriesTable(header, list(columns), [(f"{name}:", np.array(numbers))], separator)


def _separator_in(path: Path, name: str) -> str:
    return separator_of(next(iter(read_lines(path, name)), ""))


def _check_widths(rows: list[tuple[int, list[str]]], width: int, name: str) -> None:
    for number, fields in rows:
        if len(fields) != width:
            check_width(fields, width, f"{name}:{number}")

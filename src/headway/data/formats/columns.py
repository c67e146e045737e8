"""The mapping from fields of a line to columns of the task."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from ...config.messages import counted
from ...errors import ConfigError, DataError
from .format import ColumnEntry

WIDE = 20
"""A table of texts has hardly more columns than this."""
Columns = Mapping[str, ColumnEntry]
"""Columns of the task, each with the corpus's entry: a name, a number or None."""


def is_header(columns: Columns, fields: list[str]) -> bool:
    """Whether the first line of a table is a header, for formats where it may be missing."""
    entries = columns.values()
    if any(isinstance(entry, str) for entry in entries):
        return True
    return all(entry is None for entry in entries) and set(columns) <= set(fields)


def pick(columns: Columns, header: list[str] | None, width: int, where: str) -> list[int]:
    """The position of each column the task needs, from 0.

    A column without an entry is found by its own name; a table without a header must then have
    exactly the task's columns, in the task's order.
    """
    if header is None and all(entry is None for entry in columns.values()):
        if width != len(columns):
            series = ', or set format = "series" if they are a series' if width > WIDE else ""
            raise DataError(
                f"{where}: {width} columns where {len(columns)} ({', '.join(columns)}) were "
                f"expected; say which, such as {next(iter(columns))} = 1{series}"
            )
        return list(range(width))
    return [_position(entry, column, header, width, where) for column, entry in columns.items()]


def _position(
    entry: ColumnEntry, column: str, header: list[str] | None, width: int, where: str
) -> int:
    if isinstance(entry, list):
        raise ConfigError(
            f"{where}: {column} is a list of columns, which is for series; name one column"
        )
    if isinstance(entry, int):
        if entry == 0 or abs(entry) > width:
            raise DataError(
                f"{where}: no column {entry} for {column}; there are {width}, counted from 1"
            )
        return entry - 1 if entry > 0 else width + entry
    name = column if entry is None else entry
    if header is None:
        raise ConfigError(
            f"{where}: which column is {column}? Columns of this file have no names; "
            f"give a number, such as {column} = 1"
        )
    if name not in header:
        raise DataError(f"{where}: no column {name!r}; {_header_hint(name, column, header)}")
    return header.index(name)


def _header_hint(name: str, column: str, header: list[str]) -> str:
    """Advice about a column that a header does not have."""
    if len(header) == 1 and ";" in header[0]:
        return (
            f"the header is one column, {header[0]!r}; put commas (.csv) or tabs (.tsv) between "
            "columns"
        )
    near = [other for other in header if other.lower() == name.lower()]
    near = near or get_close_matches(name, header, n=1)
    example = listed((near or header)[:1])
    return f'the header has {listed(header)}; say which, such as {column} = "{example}"'


def check_width(fields: list[str], width: int, where: str) -> None:
    """Refuses a line with more or fewer fields than those before it."""
    if len(fields) != width:
        raise DataError(
            f"{where}: {counted(len(fields), 'field')} where {width} were expected (as in the "
            "lines before); is a separator missing or inside the text?"
        )


def listed(names: Iterable[str]) -> str:
    """The names of columns on one line."""
    return ", ".join(names).replace("\n", "\\n") or "nothing"

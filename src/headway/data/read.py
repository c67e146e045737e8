"""Rows of text out of every file format, one at a time, each with the place it stands at.

The columns are named by the task; `corpora` says where a corpus keeps them. Nothing is dropped
here: a blank line of a table is a row of empty values, which `prepare` counts.
"""

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from headway.data.corpora import Corpus, column_of, files_of, format_of
from headway.data.documents import read_documents
from headway.data.lines import read_lines, read_pieces
from headway.data.squad import read_squad
from headway.errors import ConfigError, DataError

__all__ = ["Row", "has_column", "read", "read_lines", "read_whole"]

STRUCTURED = frozenset({"answers"})
"""Columns whose values are JSON, so that a file of objects may hold them as they are."""


class Row(NamedTuple):
    """One example: its values in the order of the columns asked for, and where it stands."""

    values: tuple[str, ...]
    where: str
    """`file:line`, for messages."""


def read(corpus: Corpus, columns: Sequence[str], root: Path) -> Iterator[Row]:
    """The rows of a corpus, streamed. Those of a running text are its pieces, one after another.

    Args:
        columns: the task's names of the columns, such as `("source", "target")`.
        root: the folder that relative file names start from.

    Raises:
        ConfigError: the description does not fit the format.
        DataError: a file is missing or malformed; the message names file and line.
    """
    form = format_of(corpus, single=len(columns) == 1)
    files = files_of(corpus, columns, root)
    name, path = files[0]

    def rows() -> Iterator[Row]:
        if form == "lines":
            return _read_parallel(files)
        if form == "text":
            return (Row((text,), f"{name}:{line}") for text, line in read_pieces(path, name))
        if form == "documents":
            return (Row((text,), f"{name}:{line}") for text, line in read_documents(path, name))
        return READERS[form](corpus, columns, name, path)

    if corpus.part is None or form == "squad":
        return rows()
    return (_part_of_text if form == "text" else _part)(rows, *corpus.part)


def read_whole(corpus: Corpus, columns: Sequence[str], root: Path) -> Iterator[Row]:
    """The same where a running text is one row, all of it."""
    rows = read(corpus, columns, root)
    if format_of(corpus, single=len(columns) == 1) != "text":
        return rows
    return iter([Row(("".join(row.values[0] for row in rows),), f"{corpus.file}:1")])


def has_column(corpus: Corpus, column: str, root: Path) -> bool:
    """Whether a corpus has a column that its task can do without.

    It does if it says where the column is, or if its table has one of that name.

    Raises:
        DataError: the file is missing, or is no text.
    """
    if column_of(corpus, column) is not None:
        return True
    if corpus.file is None or format_of(corpus) not in ("tsv", "csv", "jsonl"):
        return False
    [(name, path)] = files_of(corpus, (column,), root)
    first = next((line for line in read_lines(path, name) if line.strip()), "")
    if format_of(corpus) == "tsv":
        return column in first.split("\t")
    if format_of(corpus) == "csv":
        return column in next(csv.reader([first]), [])
    try:
        entry = json.loads(first or "{}")
    except (json.JSONDecodeError, RecursionError):
        return False  # `read` says what is wrong
    return isinstance(entry, dict) and column in entry


Rows = Callable[[], Iterator[Row]]


def _part(rows: Rows, start: float, stop: float) -> Iterator[Row]:
    n = sum(1 for _ in rows())
    return islice(rows(), int(n * start), int(n * stop))


def _part_of_text(rows: Rows, start: float, stop: float) -> Iterator[Row]:
    """The same by characters, so that a part may begin and end inside a line."""
    n = sum(len(row.values[0]) for row in rows())
    first, last = int(n * start), int(n * stop)
    done = 0
    for row in rows():
        text = row.values[0][max(first - done, 0) : max(last - done, 0)]
        done += len(row.values[0])
        if text:
            yield Row((text,), row.where)


def _read_parallel(files: list[tuple[str, Path]]) -> Iterator[Row]:
    streams = [read_lines(path, name) for name, path in files]
    first = files[0][0]
    number = 0
    while True:
        values = tuple(next(stream, None) for stream in streams)
        if None in values:
            break
        number += 1
        yield Row(values, f"{first}:{number}")  # type: ignore[arg-type]
    _check_all_ended(files, values, number)


def _check_all_ended(
    files: list[tuple[str, Path]], values: tuple[str | None, ...], number: int
) -> None:
    longer = [name for (name, _), value in zip(files, values, strict=True) if value is not None]
    if longer:
        short = files[values.index(None)][0]
        raise DataError(
            f"{short} ends after line {number} while {longer[0]} goes on; "
            "parallel files need the same number of lines, each the partner of the other's"
        )


def _read_tsv(corpus: Corpus, columns: Sequence[str], name: str, path: Path) -> Iterator[Row]:
    blank = ("",) * len(columns)
    picks: list[int] = []
    width = 0
    for number, line in enumerate(read_lines(path, name), 1):
        where = f"{name}:{number}"
        if not line.strip():
            yield Row(blank, where)
            continue
        fields = line.split("\t")
        if not picks:
            header = fields if _is_header(corpus, columns, fields) else None
            picks = _pick(corpus, columns, header, len(fields), where)
            width = len(fields)
            if header:
                continue
        _check_width(fields, width, where)
        yield Row(tuple(fields[i] for i in picks), where)


def _read_csv(corpus: Corpus, columns: Sequence[str], name: str, path: Path) -> Iterator[Row]:
    blank = ("",) * len(columns)
    reader = csv.reader((line + "\n" for line in read_lines(path, name)), strict=True)
    picks: list[int] = []
    width = 0
    number = 1
    try:
        for fields in reader:
            where = f"{name}:{number}"
            number = reader.line_num + 1
            if len(fields) < 2 and not "".join(fields).strip():
                yield Row(blank, where)
            elif not picks:
                picks = _pick(corpus, columns, fields, len(fields), where)
                width = len(fields)
            else:
                _check_width(fields, width, where)
                yield Row(tuple(fields[i] for i in picks), where)
    except csv.Error as error:
        raise DataError(
            f"{name}:{number}: not valid CSV ({error}); is a quotation mark left open or not "
            "doubled?"
        ) from None


def _is_header(corpus: Corpus, columns: Sequence[str], fields: list[str]) -> bool:
    """Whether the first line of a table without a fixed header rule names its columns."""
    said = [column_of(corpus, column) for column in columns]
    if any(isinstance(place, str) for place in said):
        return True
    return all(place is None for place in said) and set(columns) <= set(fields)


def _pick(
    corpus: Corpus, columns: Sequence[str], header: list[str] | None, width: int, where: str
) -> list[int]:
    """The position of each column the task needs, from 0.

    A column the corpus does not place is looked for under its own name; a table without a header
    must then hold exactly the task's columns, in the task's order.
    """
    said = [column_of(corpus, column) for column in columns]
    if header is None and all(place is None for place in said):
        if width != len(columns):
            raise DataError(
                f"{where}: {width} columns where {len(columns)} ({', '.join(columns)}) were "
                f"expected; say which, such as {columns[0]} = 1"
            )
        return list(range(width))
    return [
        _position(place, column, header, width, where)
        for place, column in zip(said, columns, strict=True)
    ]


def _position(
    place: str | int | None, column: str, header: list[str] | None, width: int, where: str
) -> int:
    if isinstance(place, int):
        if place == 0 or abs(place) > width:
            raise DataError(
                f"{where}: no column {place} for {column}; there are {width}, counted from 1"
            )
        return place - 1 if place > 0 else width + place
    name = column if place is None else place
    if header is None:
        raise ConfigError(
            f"{where}: which column is {column}? Columns of this file have no names; "
            f"give a number, such as {column} = 1"
        )
    if name not in header:
        raise DataError(
            f"{where}: no column {name!r} for {column}; the header has {', '.join(header)}"
        )
    return header.index(name)


def _check_width(fields: list[str], width: int, where: str) -> None:
    if len(fields) != width:
        raise DataError(
            f"{where}: {_counted(len(fields), 'field')} where {width} were expected (as in the "
            "lines before); is a separator missing or inside the text?"
        )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _read_jsonl(corpus: Corpus, columns: Sequence[str], name: str, path: Path) -> Iterator[Row]:
    blank = ("",) * len(columns)
    said = [column_of(corpus, column) for column in columns]
    keys = [str(column if at is None else at) for column, at in zip(columns, said, strict=True)]
    for number, line in enumerate(read_lines(path, name), 1):
        where = f"{name}:{number}"
        if not line.strip():
            yield Row(blank, where)
            continue
        try:
            entry = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(
                f"{where}: not valid JSON: {error.msg} at position {error.pos + 1}; "
                "expected one object per line"
            ) from None
        except RecursionError:
            raise DataError(f"{where}: not valid JSON: nested too deeply") from None
        if not isinstance(entry, dict):
            raise DataError(f"{where}: {_kind(entry)} where an object of columns was expected")
        for column, key in zip(columns, keys, strict=True):
            if column in STRUCTURED and isinstance(entry.get(key), list | dict):
                entry[key] = json.dumps(entry[key])
        yield Row(tuple(_json_text(entry, key, where) for key in keys), where)


def _json_text(entry: dict[str, object], key: str, where: str) -> str:
    if key not in entry:
        there = ", ".join(entry) or "nothing"
        raise DataError(f"{where}: no column {key!r}; the object has {there}")
    value = entry[key]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return json.dumps(value)
    if not isinstance(value, str):
        raise DataError(f"{where}: column {key!r} holds {_kind(value)}; expected text or a number")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise DataError(
            f"{where}: column {key!r} holds half a character (a lone \\ud... escape); mend the file"
        ) from None
    return value


def _kind(value: object) -> str:
    if value is None:
        return "null"
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return kinds.get(type(value), "a number")


def _read_conll(corpus: Corpus, columns: Sequence[str], name: str, path: Path) -> Iterator[Row]:
    """One row per sentence: each column's words, joined by single spaces.

    Without numbers the columns are the first ones of the file, and the last is its last. A line
    that starts with -DOCSTART- marks a document and is no word.
    """
    sentence: list[list[str]] = []
    start = number = 0
    for number, line in enumerate(read_lines(path, name), 1):
        if line.startswith("-DOCSTART-"):
            continue
        if line.strip():
            start = start or number
            sentence.append(_conll_fields(line, f"{name}:{number}"))
            _check_width(sentence[-1], len(sentence[0]), f"{name}:{number}")
        elif sentence:
            yield _conll_row(corpus, columns, sentence, f"{name}:{start}")
            sentence, start = [], 0
    if sentence:
        yield _conll_row(corpus, columns, sentence, f"{name}:{start}")


def _conll_fields(line: str, where: str) -> list[str]:
    if "\t" not in line:
        return line.split()
    fields = line.split("\t")
    for field in fields:
        if len(field.split()) != 1:
            raise DataError(
                f"{where}: the field {field!r} is not one word; words and tags would go out of step"
            )
    return fields


def _conll_row(
    corpus: Corpus, columns: Sequence[str], sentence: list[list[str]], where: str
) -> Row:
    width = len(sentence[0])
    if all(column_of(corpus, column) is None for column in columns):
        if width < len(columns):
            raise DataError(
                f"{where}: {_counted(width, 'column')} where {', '.join(columns)} were expected"
            )
        picks = [*range(len(columns) - 1), width - 1 if len(columns) > 1 else 0]
    else:
        picks = _pick(corpus, columns, None, width, where)
    return Row(tuple(" ".join(fields[i] for fields in sentence) for i in picks), where)


def _read_pronunciation(
    corpus: Corpus, columns: Sequence[str], name: str, path: Path
) -> Iterator[Row]:
    """Words and their symbols (`WORD  P1 P2 ...`), the symbols joined by single spaces.

    Lines that start with ;;; are comments, as in CMUdict.
    """
    blank = ("",) * len(columns)
    picks = _pick(corpus, columns, None, 2, name)
    for number, line in enumerate(read_lines(path, name), 1):
        where = f"{name}:{number}"
        if line.startswith(";;;"):
            continue
        if not line.strip():
            yield Row(blank, where)
            continue
        separator = corpus.separator or ("\t" if "\t" in line else "  ")
        word, found, symbols = line.partition(separator)
        if not found:
            expected = repr(corpus.separator) if corpus.separator else "a tab or two spaces"
            raise DataError(
                f"{where}: expected {expected} between word and symbols; set separator to what "
                "stands there"
            )
        parts = symbols.strip().split(corpus.inner)
        fields = (word.strip(), " ".join(part.strip() for part in parts))
        yield Row(tuple(fields[i] for i in picks), where)


def _read_squad(corpus: Corpus, columns: Sequence[str], name: str, path: Path) -> Iterator[Row]:
    for column in columns:
        if column_of(corpus, column) is not None:
            raise ConfigError(
                f"{name}: {column} is given, but format 'squad' has its places for all columns; "
                "leave it out"
            )
    for asked in read_squad(path, name, corpus.part):
        values = {
            "question": asked.question,
            "context": asked.context,
            "answers": asked.answers,
        }
        unknown = [column for column in columns if column not in values]
        if unknown:
            raise ConfigError(
                f"{name}: format 'squad' has no {unknown[0]}; it is for task = \"answer\""
            )
        yield Row(tuple(values[column] for column in columns), asked.where)


Reader = Callable[[Corpus, Sequence[str], str, Path], Iterator[Row]]

READERS: dict[str, Reader] = {
    "tsv": _read_tsv,
    "csv": _read_csv,
    "jsonl": _read_jsonl,
    "conll": _read_conll,
    "pronunciation": _read_pronunciation,
    "squad": _read_squad,
}

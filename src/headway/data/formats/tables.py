"""Tables: values separated by tabs (TSV) or commas (CSV), or one object per line (JSONL)."""

import csv
import json
from collections.abc import Collection, Iterator

from ...errors import DataError
from ...file_limits import parse_json
from .columns import check_width, is_header, listed, pick
from .format import CorpusFiles, FileFormat, Row
from .lines import read_lines

STRUCTURED = frozenset({"answers"})
"""Columns whose values are JSON; JSONL files may hold them as objects or lists."""


def read_tsv(corpus: CorpusFiles) -> Iterator[Row]:
    """The rows of a table with tabs, without its header if it has one."""
    picks: list[int] = []
    width = 0
    for number, line in enumerate(read_lines(corpus.path, corpus.name), 1):
        where = f"{corpus.name}:{number}"
        if not line.strip():
            yield Row(corpus.blank, where)
            continue
        fields = line.split("\t")
        if not picks:
            header = fields if is_header(corpus.columns, fields) else None
            picks = pick(corpus.columns, header, len(fields), where)
            width = len(fields)
            if header:
                continue
        check_width(fields, width, where)
        yield Row(tuple(fields[i] for i in picks), where)


def read_csv(corpus: CorpusFiles) -> Iterator[Row]:
    """The rows below the header of a CSV file; a quoted value may hold line breaks."""
    name = corpus.name
    reader = csv.reader((line + "\n" for line in read_lines(corpus.path, name)), strict=True)
    picks: list[int] = []
    width = 0
    number = 1
    try:
        for fields in reader:
            where = f"{name}:{number}"
            number = reader.line_num + 1
            if len(fields) < 2 and not "".join(fields).strip():
                yield Row(corpus.blank, where)
            elif not picks:
                picks = pick(corpus.columns, fields, len(fields), where)
                width = len(fields)
            else:
                check_width(fields, width, where)
                yield Row(tuple(fields[i] for i in picks), where)
    except csv.Error as error:
        raise DataError(
            f"{name}:{number}: not valid CSV ({error}); is a quotation mark left open or not "
            "doubled?"
        ) from None


def read_jsonl(corpus: CorpusFiles) -> Iterator[Row]:
    """The rows of a file with one object on each line."""
    keys = {column: str(column if at is None else at) for column, at in corpus.columns.items()}
    for number, line in enumerate(read_lines(corpus.path, corpus.name), 1):
        where = f"{corpus.name}:{number}"
        if not line.strip():
            yield Row(corpus.blank, where)
            continue
        try:
            entry = parse_json(line)
        except json.JSONDecodeError as error:
            raise DataError(
                f"{where}: not valid JSON: {error.msg} at position {error.pos + 1}; "
                "expected one object per line"
            ) from None
        except ValueError as error:
            raise DataError(
                f"{where}: not valid JSON: {error}; expected one object per line"
            ) from None
        if not isinstance(entry, dict):
            raise DataError(f"{where}: {_type_name(entry)} where an object of columns was expected")
        for column, key in keys.items():
            if column in STRUCTURED and isinstance(entry.get(key), list | dict):
                entry[key] = json.dumps(entry[key])
        yield Row(tuple(_json_text(entry, key, where) for key in keys.values()), where)


def _json_text(entry: dict[str, object], key: str, where: str) -> str:
    if key not in entry:
        raise DataError(f"{where}: no column {key!r}; the object has {listed(entry)}")
    value = entry[key]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return json.dumps(value)
    if not isinstance(value, str):
        raise DataError(
            f"{where}: column {key!r} holds {_type_name(value)}; expected text or a number"
        )
    try:
        value.encode()
    except UnicodeEncodeError:
        raise DataError(
            f"{where}: column {key!r} holds half a character (a lone \\ud... escape); fix the file"
        ) from None
    return value


def _type_name(value: object) -> str:
    if value is None:
        return "null"
    nouns = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return nouns.get(type(value), "a number")


def _json_keys(line: str) -> Collection[str]:
    try:
        entry = parse_json(line or "{}")
    except ValueError:
        return ()  # `read_jsonl` reports the error
    return entry if isinstance(entry, dict) else ()


def _csv_names(line: str) -> Collection[str]:
    try:
        return next(csv.reader([line]), [])
    except csv.Error:
        return ()  # `read_csv` reports the error


TSV = FileFormat(
    "a table with tabs, with a header line if columns are given by name or if its first line holds "
    "the names of the task's columns",
    read_tsv,
    extensions=(".tsv", ".tab"),
    header=lambda line: line.split("\t"),
)
CSV = FileFormat(
    "a table with commas and a header line",
    read_csv,
    extensions=(".csv",),
    header=_csv_names,
)
JSONL = FileFormat(
    "an object on each line",
    read_jsonl,
    extensions=(".jsonl", ".ndjson"),
    header=_json_keys,
)

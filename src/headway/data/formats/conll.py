"""CoNLL's columns: a word on each line with its tags, blank lines between sentences."""

from collections.abc import Iterator

from ...config.messages import counted
from ...errors import DataError
from .columns import Columns, pick
from .format import CorpusFiles, FileFormat, Row
from .lines import read_lines


def read_conll(corpus: CorpusFiles) -> Iterator[Row]:
    """One row per sentence; the fields of each column are joined by single spaces.

    Without numbers, the last column is the last of the file and the others are its first. Lines
    that start with -DOCSTART- are skipped; all others have as many fields as the first.
    """
    name = corpus.name
    sentence: list[list[str]] = []
    picks: list[int] = []
    start = first = width = 0
    for number, line in enumerate(read_lines(corpus.path, name), 1):
        if line.startswith("-DOCSTART-"):
            continue
        if line.strip():
            where = f"{name}:{number}"
            fields = _fields(line, where)
            if not picks:
                first, width = number, len(fields)
                picks = _picks(corpus.columns, width, where)
            _check_width(len(fields), width, first, where)
            start = start or number
            sentence.append(fields)
        elif sentence:
            yield _row(sentence, picks, f"{name}:{start}")
            sentence, start = [], 0
    if sentence:
        yield _row(sentence, picks, f"{name}:{start}")


def _fields(line: str, where: str) -> list[str]:
    if "\t" not in line:
        return line.split()
    fields = line.split("\t")
    for field in fields:
        if len(field.split()) != 1:
            raise DataError(
                f"{where}: the field {field!r} is not one word; words and tags would go out of step"
            )
    return fields


def _check_width(n_fields: int, width: int, first: int, where: str) -> None:
    """Refuses a line with more or fewer fields than the first."""
    if n_fields == width:
        return
    question = (
        "is a tag missing?"
        if n_fields == width - 1
        else "is a separator missing or inside the word?"
    )
    raise DataError(
        f"{where}: {counted(n_fields, 'field')} where {width} were expected (as in line {first}); "
        f"{question}"
    )


def _picks(columns: Columns, width: int, where: str) -> list[int]:
    """The position of each column, from 0."""
    if any(entry is not None for entry in columns.values()):
        return pick(columns, None, width, where)
    if width < len(columns):
        raise DataError(
            f"{where}: {counted(width, 'column')} where {', '.join(columns)} were expected"
        )
    return [*range(len(columns) - 1), width - 1 if len(columns) > 1 else 0]


def _row(sentence: list[list[str]], picks: list[int], where: str) -> Row:
    return Row(tuple(" ".join(fields[i] for fields in sentence) for i in picks), where)


CONLL = FileFormat(
    "a word with its tags on each line, blank lines between sentences",
    read_conll,
    extensions=(".conll",),
)

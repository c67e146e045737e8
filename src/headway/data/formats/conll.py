"""CoNLL's columns: a word on each line with its tags, blank lines between sentences."""

from collections.abc import Iterator

from ...errors import DataError
from .columns import check_width, counted, pick
from .format import CorpusFiles, FileFormat, Row
from .lines import read_lines


def read_conll(corpus: CorpusFiles) -> Iterator[Row]:
    """One row per sentence; the fields of each column are joined by single spaces.

    Without numbers, the last column is the last of the file and the others are its first. Lines
    that start with -DOCSTART- are skipped.
    """
    name = corpus.name
    sentence: list[list[str]] = []
    start = number = 0
    for number, line in enumerate(read_lines(corpus.path, name), 1):
        if line.startswith("-DOCSTART-"):
            continue
        if line.strip():
            start = start or number
            sentence.append(_fields(line, f"{name}:{number}"))
            check_width(sentence[-1], len(sentence[0]), f"{name}:{number}")
        elif sentence:
            yield _row(corpus, sentence, f"{name}:{start}")
            sentence, start = [], 0
    if sentence:
        yield _row(corpus, sentence, f"{name}:{start}")


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


def _row(corpus: CorpusFiles, sentence: list[list[str]], where: str) -> Row:
    width, columns = len(sentence[0]), corpus.columns
    if all(entry is None for entry in columns.values()):
        if width < len(columns):
            raise DataError(
                f"{where}: {counted(width, 'column')} where {', '.join(columns)} were expected"
            )
        picks = [*range(len(columns) - 1), width - 1 if len(columns) > 1 else 0]
    else:
        picks = pick(columns, None, width, where)
    return Row(tuple(" ".join(fields[i] for fields in sentence) for i in picks), where)


CONLL = FileFormat(
    "a word with its tags on each line, blank lines between sentences",
    read_conll,
    extensions=(".conll",),
)

"""SQuAD's JSON: articles of paragraphs, each a text with questions about it.

The layout of SQuAD 1.1 and 2.0 (`data`, `paragraphs`, `qas`). Answers stay JSON here: parsing and
checking them is left to `codecs.spans`.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import ConfigError, DataError
from ...file_limits import parse_json
from .format import CorpusFiles, FileFormat, Row
from .lines import read_lines

LAYOUT = "expected SQuAD's layout: data, in it paragraphs, in them context and qas"


class SquadQuestion(NamedTuple):
    """One question with its text and the right answers, as JSON; `[]` if there is none."""

    question: str
    context: str
    answers: str
    where: str
    """File and id of the question; a whole file is usually one line."""


def read_squad(
    path: Path, name: str, part: tuple[float, float] | None = None
) -> Iterator[SquadQuestion]:
    """The questions of a file in their order.

    Args:
        part: begin and end of the articles to read, as shares.

    Raises:
        DataError: the file is no JSON, or has another layout.
    """
    articles = _list(_loaded(path, name), "data", name)
    start, stop = part or (0.0, 1.0)
    chosen = range(int(len(articles) * start), int(len(articles) * stop))
    for i in chosen:
        where = f"{name}: article {i + 1}"
        for paragraph in _list(articles[i], "paragraphs", where):
            context = _text(paragraph, "context", where)
            for entry in _list(paragraph, "qas", where):
                yield _question(entry, context, name, where)


def _question(entry: Any, context: str, name: str, article: str) -> SquadQuestion:
    question = _text(entry, "question", article)
    identifier = entry.get("id")
    where = f"{name}:{identifier}" if identifier is not None else f"{article}, {question!r}"
    is_impossible = entry.get("is_impossible") is True
    answers = [] if is_impossible else entry.get("answers", [])
    return SquadQuestion(question, context, json.dumps(answers), where)


def _loaded(path: Path, name: str) -> Any:
    try:
        return parse_json("\n".join(read_lines(path, name)))
    except json.JSONDecodeError as error:
        raise DataError(
            f"{name}:{error.lineno}: not valid JSON: {error.msg} at position {error.colno} of the "
            f"line; {LAYOUT}"
        ) from None
    except ValueError as error:
        raise DataError(f"{name}: not valid JSON: {error}; {LAYOUT}") from None


def _list(entry: Any, key: str, where: str) -> list[Any]:
    value = entry.get(key) if isinstance(entry, dict) else None
    if not isinstance(value, list):
        raise DataError(f"{where} has no list {key!r}; {LAYOUT}")
    return value


def _text(entry: Any, key: str, where: str) -> str:
    value = entry.get(key) if isinstance(entry, dict) else None
    if not isinstance(value, str):
        raise DataError(f"{where} has no text {key!r}; {LAYOUT}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise DataError(
            f"{where}: a {key} holds half a character (a lone \\ud... escape); fix the file"
        ) from None
    return value


def _rows(corpus: CorpusFiles) -> Iterator[Row]:
    for column, entry in corpus.columns.items():
        if entry is not None:
            raise ConfigError(
                f"{corpus.name}: {column} is given, but format 'squad' has a fixed field for every "
                "column; leave it out"
            )
    for question in read_squad(corpus.path, corpus.name, corpus.part):
        values = {
            "question": question.question,
            "context": question.context,
            "answers": question.answers,
        }
        unknown = [column for column in corpus.columns if column not in values]
        if unknown:
            raise ConfigError(
                f"{corpus.name}: format 'squad' has no {unknown[0]}; it is for task = \"answer\""
            )
        yield Row(tuple(values[column] for column in corpus.columns), question.where)


SQUAD = FileFormat(
    "the JSON of that data set, with or without questions that have no answer",
    _rows,
    takes_parts=True,
)

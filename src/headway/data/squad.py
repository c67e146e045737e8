"""SQuAD's JSON: articles of paragraphs, each a text with questions about it.

The layout of SQuAD 1.1 and 2.0 (`data`, `paragraphs`, `qas`). Answers stay JSON here: what a span
is, and whether it stands where it should, is left to `spans`.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from headway.data.lines import read_lines
from headway.errors import DataError

LAYOUT = "expected SQuAD's layout: data, in it paragraphs, in them context and qas"


class Asked(NamedTuple):
    """One question with its text and the right answers, as JSON; `[]` if there is none."""

    question: str
    context: str
    answers: str
    where: str
    """File and id of the question: all of a file is usually one line."""


def read_squad(path: Path, name: str, part: tuple[float, float] | None = None) -> Iterator[Asked]:
    """The questions of a file in their order.

    Args:
        part: only these articles, from one share of them to another.

    Raises:
        DataError: the file is no JSON, or has another layout.
    """
    articles = _list(_loaded(path, name), "data", name)
    start, stop = part or (0.0, 1.0)
    chosen = range(int(len(articles) * start), int(len(articles) * stop))
    for i in chosen:
        place = f"{name}: article {i + 1}"
        for paragraph in _list(articles[i], "paragraphs", place):
            context = _text(paragraph, "context", place)
            for entry in _list(paragraph, "qas", place):
                yield _asked(entry, context, name, place)


def _asked(entry: Any, context: str, name: str, place: str) -> Asked:
    question = _text(entry, "question", place)
    known = entry.get("id")
    where = f"{name}:{known}" if known is not None else f"{place}, {question!r}"
    is_impossible = entry.get("is_impossible") is True
    answers = [] if is_impossible else entry.get("answers", [])
    return Asked(question, context, json.dumps(answers), where)


def _loaded(path: Path, name: str) -> Any:
    try:
        return json.loads("\n".join(read_lines(path, name)))
    except json.JSONDecodeError as error:
        raise DataError(
            f"{name}:{error.lineno}: not valid JSON: {error.msg} at position {error.colno} of the "
            f"line; {LAYOUT}"
        ) from None
    except RecursionError:
        raise DataError(f"{name}: not valid JSON: nested too deeply; {LAYOUT}") from None


def _list(entry: Any, key: str, place: str) -> list[Any]:
    found = entry.get(key) if isinstance(entry, dict) else None
    if not isinstance(found, list):
        raise DataError(f"{place} has no list {key!r}; {LAYOUT}")
    return found


def _text(entry: Any, key: str, place: str) -> str:
    found = entry.get(key) if isinstance(entry, dict) else None
    if not isinstance(found, str):
        raise DataError(f"{place} has no text {key!r}; {LAYOUT}")
    try:
        found.encode()
    except UnicodeEncodeError:
        raise DataError(
            f"{place}: a {key} holds half a character (a lone \\ud... escape); mend the file"
        ) from None
    return found

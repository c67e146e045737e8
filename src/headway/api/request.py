"""What is asked for one input: its text, and what the output must, must not or begins to say."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from ..errors import DataError

Term = str | Sequence[str]
"""A word or phrase, or several of which one is enough."""


@dataclass(frozen=True)
class Request:
    """An input with wishes.

    Attributes:
        require: words or phrases that must appear as whole words; in place of one, a list of
            alternatives.
        forbid: words or phrases that may not appear.
        prefix: how the output begins. Its last word may be going on; a space behind it ends it.
    """

    source: str
    require: Sequence[Term] = ()
    forbid: Sequence[str] = ()
    prefix: str = ""

    def __post_init__(self) -> None:
        for name in ("require", "forbid"):
            if isinstance(value := getattr(self, name), str):
                raise TypeError(f"{name} takes a list of terms; write {name}=[{value!r}]")

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing to translate and nothing to say."""
        return not (self.source.strip() or self.require or self.prefix.strip())


def parse_request(line: str, place: str) -> Request:
    """A line of JSON as a request; a blank line is a blank one.

    Args:
        place: what messages call the line, such as `requests.jsonl:7`.

    Raises:
        DataError: it is no JSON object, lacks `source`, or holds what nobody understands.
    """
    if not line.strip():
        return Request("")
    entry = _decoded(line, place)
    if not isinstance(entry, dict):
        raise DataError(
            f'{place}: expected an object such as {{"source": "..."}}, got {line[:40]!r}'
        )
    known = [field.name for field in fields(Request)]
    for key in entry:
        if key not in known:
            raise DataError(f"{place}: unknown key {key!r}; expected {', '.join(known)}")
    if "source" not in entry:
        raise DataError(f"{place}: no key 'source'; the object has {', '.join(entry) or 'nothing'}")
    return Request(
        _text(entry["source"], "source", place),
        _terms(entry.get("require", []), place),
        _texts(entry.get("forbid", []), "forbid", "a list of texts", place),
        _text(entry.get("prefix", ""), "prefix", place),
    )


def _decoded(line: str, place: str) -> Any:
    """What the JSON says, all of it text that can be written."""
    try:
        entry = json.loads(line)
        if "\\u" in line:  # an escape is the only way to write half of a character
            json.dumps(entry, ensure_ascii=False).encode()
    except (json.JSONDecodeError, RecursionError) as error:
        raise DataError(
            f"{place}: not valid JSON ({error}); expected one object per line"
        ) from None
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])[1:-1]
        raise DataError(
            f"{place}: {half} is half of a character; write both halves, or the character itself"
        ) from None
    except ValueError:  # the interpreter reads no number of more than some thousand digits
        raise DataError(f"{place}: a number of thousands of digits; expected texts") from None
    return entry


def _text(value: Any, key: str, place: str) -> str:
    if not isinstance(value, str):
        raise DataError(f"{place}: {key!r} is {json.dumps(value)[:40]}; expected a text")
    return value


def _terms(value: Any, place: str) -> tuple[Term, ...]:
    expected = "a list of texts, or of lists of alternative texts"
    if not isinstance(value, list):
        return _texts(value, "require", expected, place)
    return tuple(
        _texts(item, "require", expected, place)
        if isinstance(item, list)
        else _texts([item], "require", expected, place)[0]
        for item in value
    )


def _texts(value: Any, key: str, expected: str, place: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        shown = json.dumps(value, ensure_ascii=False)
        raise DataError(f"{place}: {key!r} holds {shown[:40]}; expected {expected}")
    return tuple(value)

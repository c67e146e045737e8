"""Translation requests: their JSON lines, and their encoding as segments for the search.

A request is a text with required and forbidden terms and a prefix. `segment_search.py` searches.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from ..arguments import check_fields
from ..data.codecs.text import TextCodec
from ..data.formats.columns import listed
from ..data.glossary import Glossary
from ..errors import DataError
from ..file_limits import parse_json
from ..search import Prefix
from ..search.constraints import Constraints
from ..tasks.term_constraints import make_constraints
from ..text.detokenize import split_prefix
from .input_errors import InputErrors

Term = str | Sequence[str]
"""A word or phrase, or a list of alternatives."""


@dataclass(frozen=True)
class TranslationRequest:
    """A text to translate, with constraints on the output.

    Attributes:
        require: words or phrases that must appear as whole words; a list in place of a term holds
            alternatives.
        forbid: words or phrases that may not appear.
        prefix: beginning of the output. Its last word may continue, unless a space follows it.
    """

    source: str
    require: Sequence[Term] = ()
    forbid: Sequence[str] = ()
    prefix: str = ""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def is_blank(self) -> bool:
        """Whether there is no text, no required term and no prefix."""
        return not (self.source.strip() or self.require or self.prefix.strip())


def parse_request(line: str, location: str) -> TranslationRequest:
    """The request of a line of JSON; a blank line is a blank request.

    Args:
        location: name of the line in messages, such as `requests.jsonl:7`.

    Raises:
        DataError: the line is no JSON object, lacks `source`, or has an unknown key or value.
    """
    if not line.strip():
        return TranslationRequest("")
    entry = _decoded(line, location)
    if not isinstance(entry, dict):
        raise DataError(
            f'{location}: expected an object such as {{"source": "..."}}, got {line[:40]!r}'
        )
    known = [field.name for field in fields(TranslationRequest)]
    for key in entry:
        if key not in known:
            raise DataError(f"{location}: unknown key {key!r}; expected {', '.join(known)}")
    if "source" not in entry:
        raise DataError(f"{location}: no key 'source'; the object has {listed(entry)}")
    return TranslationRequest(
        _text(entry["source"], "source", location),
        _terms(entry.get("require", []), location),
        _texts(entry.get("forbid", []), "forbid", "a list of texts", location),
        _text(entry.get("prefix", ""), "prefix", location),
    )


def _decoded(line: str, location: str) -> Any:
    """The value of a line of JSON, all of whose text can be encoded."""
    try:
        entry = parse_json(line)
        if "\\u" in line:  # half of a character can be written only as an escape
            json.dumps(entry, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise DataError(
            f"{location}: not valid JSON ({error}); expected one object per line"
        ) from None
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])[1:-1]
        raise DataError(
            f"{location}: {half} is half of a character; write both halves, or the character itself"
        ) from None
    except ValueError as error:
        raise DataError(f"{location}: {error}; expected texts") from None
    return entry


def _text(value: Any, key: str, location: str) -> str:
    if not isinstance(value, str):
        raise DataError(f"{location}: {key!r} is {json.dumps(value)[:40]}; expected a text")
    return value


def _terms(value: Any, location: str) -> tuple[Term, ...]:
    expected = "a list of texts, or of lists of alternative texts"
    if not isinstance(value, list):
        return _texts(value, "require", expected, location)
    return tuple(
        _texts(item, "require", expected, location)
        if isinstance(item, list)
        else _texts([item], "require", expected, location)[0]
        for item in value
    )


def _texts(value: Any, key: str, expected: str, location: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        got = json.dumps(value, ensure_ascii=False)
        raise DataError(f"{location}: {key!r} holds {got[:40]}; expected {expected}")
    return tuple(value)


SplitTooLong = Literal["refuse", "split"]


@dataclass(frozen=True)
class Segment:
    """An encoded text that is searched on its own: a request, or a part of a long one.

    Attributes:
        row: index of its request.
        part: its index among the segments of that request.
    """

    row: int
    part: int
    ids: np.ndarray
    prefix: Prefix
    constraints: Constraints

    @property
    def begins(self) -> bool:
        """Whether its output has a prefix."""
        return bool(self.prefix.tokens or self.prefix.opening)


class RequestEncoder:
    """Encodes requests as segments.

    Args:
        max_length: largest number of tokens of a segment, end token included.
    """

    def __init__(
        self,
        source: TextCodec,
        target: TextCodec,
        max_length: int,
        too_long: SplitTooLong = "refuse",
        glossary: Glossary | None = None,
    ) -> None:
        self.source, self.target = source, target
        self.max_length, self.too_long, self.glossary = max_length, too_long, glossary

    def cut(
        self,
        requests: Sequence[TranslationRequest],
        places: Sequence[str],
        errors: InputErrors | None = None,
    ) -> list[Segment]:
        """The segments of all requests in order; blank requests have none.

        Args:
            errors: of the call; by default the first error is raised.
        """
        errors = errors or InputErrors(requests, "stop", places.__getitem__)
        rows = [row for row, request in enumerate(requests) if not request.is_blank]
        encoded = self.source.encode_batch([requests[row].source for row in rows])
        segments = []
        for row, ids in zip(rows, encoded, strict=True):
            with errors.of(row):
                segments += list(self._segments(row, requests[row], ids, places[row]))
        return segments

    def _segments(
        self, row: int, request: TranslationRequest, ids: np.ndarray, location: str
    ) -> Iterator[Segment]:
        parts = list(self._parts(request.source, ids, location))
        if len(parts) > 1 and request.require:
            raise DataError(
                f"{location} has {len(ids)} tokens and is split, but nobody knows in which "
                "part its required terms belong; shorten it or give its parts apart"
            )
        for number, (text, part) in enumerate(parts):
            prefix = self._prefix(request, location) if number == 0 else Prefix()
            terms = self._terms(request, text, location)
            self._check_prefix(prefix, request.prefix, terms, location)
            yield Segment(row, number, part, prefix, terms)

    def _parts(self, text: str, ids: np.ndarray, location: str) -> Iterator[tuple[str, np.ndarray]]:
        """The text if it fits, else its halves, split at a space, and their halves."""
        if len(ids) <= self.max_length:
            yield text, ids
            return
        words = text.split(" ")
        if self.too_long == "refuse":
            check_length(len(ids), self.max_length, location, SPLIT)
        elif len(words) == 1:
            check_length(len(ids), self.max_length, location, NO_SPACE)
        middle = len(words) // 2
        for half in (" ".join(words[:middle]), " ".join(words[middle:])):
            if half.strip():
                yield from self._parts(half, self.source.encode_batch([half])[0], location)

    def _prefix(self, request: TranslationRequest, location: str) -> Prefix:
        if not request.prefix.strip():
            return Prefix()
        try:
            tokens, opening = split_prefix(self.target.tokenizer, request.prefix)
            return Prefix(self.target.opened(tokens), opening)
        except DataError as error:
            raise DataError(f"{location}: {error}") from None

    def _check_prefix(self, prefix: Prefix, text: str, terms: Constraints, location: str) -> None:
        """Refuses a prefix with a forbidden term; a last word that may continue does not count."""
        spellings = self.target.tokenizer.spellings()
        written = b"".join(spellings[token] for token in prefix.tokens) + prefix.opening
        decoded = written.decode(errors="replace")
        for term in terms.forbidden:
            if term.is_in(decoded, ended=False):
                raise DataError(
                    f"{location}: the prefix {text!r} says {term.text!r}, which is forbidden, and "
                    "no output can do both; remove one of them"
                )

    def _terms(self, request: TranslationRequest, text: str, location: str) -> Constraints:
        require, forbid = list(request.require), list(request.forbid)
        if self.glossary is not None:
            required, forbidden = self.glossary.terms_for(text)
            require += required
            forbid += forbidden
        if not (require or forbid):
            return Constraints()
        return make_constraints(self.target, require, forbid, location)


SPLIT = 'shorten it, or split long lines (`too_long="split"`)'
NO_SPACE = "put spaces into it: lines are split at spaces only"


def check_length(length: int, limit: int, location: str, remedy: str) -> None:
    """Refuses a text that is longer than the longest of the training data.

    Raises:
        DataError: with the location, both lengths and the remedy.
    """
    if length > limit:
        raise DataError(
            f"{location} has {length} tokens and the model was trained with at most {limit}; "
            f"{remedy}"
        )

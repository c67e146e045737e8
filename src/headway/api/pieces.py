"""From requests to what a search takes: encoded pieces, each with how it begins and its terms.

A piece is all of a request, or a part of one that is too long. Texts are tokenised once, those that
must be split excepted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..data.codecs import TextCodec
from ..data.glossary import Glossary
from ..errors import DataError
from ..search import Prefix
from ..search.constraints import Constraints
from ..tasks.terms import make_constraints
from ..text.spelling import begin
from .request import Request

TooLong = Literal["refuse", "split"]


@dataclass(frozen=True)
class Piece:
    """A text that is translated on its own.

    Attributes:
        row: number of the request it belongs to.
        part: its place among the pieces of that request.
    """

    row: int
    part: int
    ids: np.ndarray
    prefix: Prefix
    constraints: Constraints

    @property
    def begins(self) -> bool:
        """Whether its output has a given beginning."""
        return bool(self.prefix.tokens or self.prefix.opening)


class Cutter:
    """Makes pieces of requests.

    Args:
        max_length: of an encoded piece, its end counted.
    """

    def __init__(
        self,
        source: TextCodec,
        target: TextCodec,
        max_length: int,
        too_long: TooLong = "refuse",
        glossary: Glossary | None = None,
    ) -> None:
        self.source, self.target = source, target
        self.max_length, self.too_long, self.glossary = max_length, too_long, glossary

    def cut(self, requests: Sequence[Request], places: Sequence[str]) -> list[Piece]:
        """The pieces of all requests in order; blank requests have none."""
        rows = [row for row, request in enumerate(requests) if not request.is_blank]
        encoded = self.source.encode_batch([requests[row].source for row in rows])
        pieces = []
        for row, ids in zip(rows, encoded, strict=True):
            request, place = requests[row], places[row]
            parts = list(self._parts(request.source, ids, place))
            if len(parts) > 1 and request.require:
                raise DataError(
                    f"{place} has {len(ids)} tokens and is split, but nobody knows in which part "
                    "its required terms belong; shorten it or give its parts apart"
                )
            for number, (text, part) in enumerate(parts):
                prefix = self._prefix(request, place) if number == 0 else Prefix()
                terms = self._terms(request, text, place)
                self._check_prefix(prefix, terms, request.prefix, place)
                pieces.append(Piece(row, number, part, prefix, terms))
        return pieces

    def _parts(self, text: str, ids: np.ndarray, place: str) -> Iterator[tuple[str, np.ndarray]]:
        """A text whole if it fits, else its halves, cut at a space."""
        if len(ids) <= self.max_length:
            yield text, ids
            return
        words = text.split(" ")
        if self.too_long == "refuse":
            check_length(len(ids), self.max_length, place, SPLIT)
        elif len(words) == 1:
            check_length(len(ids), self.max_length, place, NO_SPACE)
        middle = len(words) // 2
        for half in (" ".join(words[:middle]), " ".join(words[middle:])):
            if half.strip():
                yield from self._parts(half, self.source.encode_batch([half])[0], place)

    def _prefix(self, request: Request, place: str) -> Prefix:
        if not request.prefix.strip():
            return Prefix()
        try:
            tokens, opening = begin(self.target.tokenizer, request.prefix)
            return Prefix(self.target.opened(tokens), opening)
        except DataError as error:
            raise DataError(f"{place}: {error}") from None

    def _check_prefix(self, prefix: Prefix, terms: Constraints, given: str, place: str) -> None:
        """Refuses a beginning that says what is forbidden; a word that may go on says nothing."""
        spellings = self.target.tokenizer.spellings()
        written = b"".join(spellings[token] for token in prefix.tokens) + prefix.opening
        text = written.decode(errors="replace")
        for term in terms.forbidden:
            if term.is_in(text, ended=False):
                raise DataError(
                    f"{place}: the prefix {given!r} says {term.text!r}, which is forbidden, and no "
                    "output can do both; take one of them away"
                )

    def _terms(self, request: Request, text: str, place: str) -> Constraints:
        require, forbid = list(request.require), list(request.forbid)
        if self.glossary is not None:
            required, forbidden = self.glossary.terms_for(text)
            require += required
            forbid += forbidden
        if not (require or forbid):
            return Constraints()
        return make_constraints(self.target, require, forbid, place)


SPLIT = "shorten it, or split long lines (--split)"
NO_SPACE = "put spaces into it: lines are split at spaces only"


def check_length(length: int, limit: int, place: str, remedy: str) -> None:
    """Refuses a text that is longer than those the model was trained with."""
    if length > limit:
        raise DataError(
            f"{place} has {length} tokens and the model was trained with at most {limit}; {remedy}"
        )

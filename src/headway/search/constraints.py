"""What a sentence must say and must not say, as plain data, and how far a hypothesis has come.

A term is met by the text, as whole words, whatever tokens wrote it; its writings only tell a search
which tokens lead there. How text is made of tokens and what a whole word is comes in as callables.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

Text = Callable[[Sequence[int]], str]
"""The text of some tokens."""

_MID_CHARACTER = "\ufffd"  # what bytes decode to that are not a whole character yet
_IDLE = 1 << 30  # tokens left of the nearest term when no writing is under way


class Matcher(Protocol):
    """Whether a text holds a term as whole words."""

    def __call__(self, text: str, ended: bool = True) -> bool:
        """`ended` is False if more text may follow and undo a match at the very end."""
        ...


@dataclass(frozen=True)
class Term:
    """A word or a phrase.

    Attributes:
        text: what messages call it.
        writings: token sequences that write it, such as with and without a space before it. None
            at all means that the vocabulary cannot write it.
        fits: whether the term may be what was added to a first text to make it the second; where
            the first one ends in the same character, the answer is the same.
    """

    text: str
    writings: tuple[tuple[int, ...], ...]
    is_in: Matcher
    fits: Callable[[str, str], bool] = lambda before, after: True


@dataclass(frozen=True)
class Constraints:
    """The terms of one sentence.

    Attributes:
        required: groups of alternatives; one term of each group must appear.
        forbidden: terms that may not appear.
    """

    required: tuple[tuple[Term, ...], ...] = ()
    forbidden: tuple[Term, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.required or self.forbidden)

    @cached_property
    def possible(self) -> tuple[tuple[Term, ...], ...]:
        """The required groups that can be written, each without what cannot."""
        groups = (tuple(term for term in group if term.writings) for group in self.required)
        return tuple(group for group in groups if group)

    def unmet(self, text: str) -> tuple[str, ...]:
        """The required groups that are missing in a finished text, alternatives joined by ` | `."""
        return tuple(
            " | ".join(term.text for term in group)
            for group in self.required
            if not any(term.is_in(text) for term in group)
        )

    def is_broken(self, text: str, ended: bool) -> bool:
        """Whether a forbidden term stands in the text."""
        return any(term.is_in(text, ended=ended) for term in self.forbidden)


class PartialMatch(NamedTuple):
    """A writing of a required term that is under way."""

    group: int
    tokens: tuple[int, ...]
    n_done: int


class ConstraintState(NamedTuple):
    """Where a hypothesis stands with its constraints."""

    text: str
    met: frozenset[int]
    """Required groups whose term stands in the text, if it ends here."""
    under_way: tuple[PartialMatch, ...]
    n_left: int
    """Tokens left of the term that is nearest to its end."""
    may_end: bool
    """Whether nothing forbidden stands in the text, if it ends here."""

    @property
    def level(self) -> tuple[int, int, bool]:
        """How much is done; a text that may not end must turn what it has into a longer word."""
        return len(self.met), -self.n_left, self.may_end


INITIAL = ConstraintState("", frozenset(), (), _IDLE, True)


class TextSoFar:
    """The text of hypotheses that grow by a token, without decoding them from the start each time.

    What a token adds is kept once it was seen. At the start of a text and inside a character it
    depends on its neighbours, and everything is decoded.
    """

    def __init__(self, text: Text) -> None:
        self.decode = text
        self._added: dict[int, str] = {}

    def grow(self, before: str, tokens: tuple[int, ...]) -> str:
        """The text of `tokens`, which without the last of them is `before`."""
        if not before or before.endswith(_MID_CHARACTER):
            return self.decode(tokens)
        added = self._added.get(tokens[-1])
        if added is not None:
            return before + added
        text = self.decode(tokens)
        if text.startswith(before) and not text.endswith(_MID_CHARACTER):
            self._added[tokens[-1]] = text[len(before) :]
        return text


class Tracker:
    """Follows the hypotheses of one sentence through its constraints."""

    def __init__(self, constraints: Constraints, texts: TextSoFar) -> None:
        self.constraints = constraints
        self._texts = texts
        self._may_begin: dict[tuple[str, tuple[int, ...]], bool] = {}

    def follow(
        self, before: str, tokens: tuple[int, ...], writings: Sequence[PartialMatch]
    ) -> ConstraintState | None:
        """Where a hypothesis stands after the last of its tokens; None if it says what it may not.

        Args:
            before: its text without the last token.
            writings: those that were under way or might begin with it.
        """
        if not self.constraints:
            return INITIAL
        text = self._texts.grow(before, tokens)
        if self.constraints.is_broken(text, ended=False):
            return None
        met = self._met(text)
        under_way = []
        for writing in writings:
            done = writing.n_done + 1
            # A writing that is over and has not met its term was joined to other letters.
            goes_on = writing.group not in met and done < len(writing.tokens)
            if goes_on and writing.tokens[done - 1] == tokens[-1]:
                under_way.append(writing._replace(n_done=done))
        left = min((len(w.tokens) - w.n_done for w in under_way), default=_IDLE)
        may_end = not self.constraints.is_broken(text, ended=True)
        return ConstraintState(text, met, tuple(under_way), left, may_end)

    def openings(
        self, tokens: tuple[int, ...], standing: ConstraintState
    ) -> Iterator[PartialMatch]:
        """The writings that may begin after `tokens` and give whole words."""
        if standing.text.endswith(_MID_CHARACTER):
            return
        for number, group in enumerate(self.constraints.possible):
            if number in standing.met:
                continue
            for term in group:
                for writing in term.writings:
                    place = (standing.text[-1:], writing)
                    if place not in self._may_begin:
                        after = self._texts.decode((*tokens, *writing))
                        fits = term.is_in(after) and term.fits(standing.text, after)
                        self._may_begin[place] = fits
                    if self._may_begin[place]:
                        yield PartialMatch(number, writing, 0)

    def is_complete(self, standing: ConstraintState) -> bool:
        """Whether all that can be met is met, if the text ends here."""
        return len(standing.met) == len(self.constraints.possible)

    def n_allowed(self, tokens: tuple[int, ...]) -> int:
        """How many of the tokens can stay if nothing follows and nothing forbidden may be left."""
        n = len(tokens)
        while n and self.constraints.is_broken(self._texts.decode(tokens[:n]), ended=True):
            n -= 1
        return n

    def unmet(self, tokens: tuple[int, ...]) -> tuple[str, ...]:
        """What is missing if nothing follows the tokens."""
        if not self.constraints.required:
            return ()
        return self.constraints.unmet(self._texts.decode(tokens))

    def _met(self, text: str) -> frozenset[int]:
        return frozenset(
            number
            for number, group in enumerate(self.constraints.possible)
            if any(term.is_in(text) for term in group)
        )

"""Required and forbidden terms of a sentence, as plain data, and the progress of hypotheses.

A term is met if the text contains it as whole words, whatever the tokens; its token sequences only
guide the search. Callables decode tokens and match whole words.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

Text = Callable[[Sequence[int]], str]
"""The text of some tokens."""

_MID_CHARACTER = "\ufffd"  # decoded from bytes that are not a whole character yet
_IDLE = 1 << 30  # tokens left of the nearest term if there is no partial match


class Matcher(Protocol):
    """Whether a text contains a term as whole words."""

    def __call__(self, text: str, ended: bool = True) -> bool:
        """`ended` is False if more text may follow and undo a match at the very end."""
        ...


@dataclass(frozen=True)
class Term:
    """A word or a phrase.

    Attributes:
        text: its name in messages.
        token_sequences: token sequences that decode to it, such as with and without a space before
            it. Empty if the vocabulary cannot express it.
        fits: whether the term may extend a first text to a second one. The answer depends only on
            the last character of the first text and on the added text.
    """

    text: str
    token_sequences: tuple[tuple[int, ...], ...]
    is_in: Matcher
    fits: Callable[[str, str], bool] = lambda before, after: True


@dataclass(frozen=True)
class Constraints:
    """The terms of one sentence.

    Attributes:
        required: groups of alternatives; a term of each group must appear.
        forbidden: terms that may not appear.
    """

    required: tuple[tuple[Term, ...], ...] = ()
    forbidden: tuple[Term, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.required or self.forbidden)

    @cached_property
    def possible(self) -> tuple[tuple[Term, ...], ...]:
        """The required groups, without the terms that the vocabulary cannot express."""
        groups = (tuple(term for term in group if term.token_sequences) for group in self.required)
        return tuple(group for group in groups if group)

    def unmet(self, text: str) -> tuple[str, ...]:
        """The required groups that are missing in a finished text, alternatives joined by ` | `."""
        return tuple(
            " | ".join(term.text for term in group)
            for group in self.required
            if not any(term.is_in(text) for term in group)
        )

    def is_broken(self, text: str, ended: bool) -> bool:
        """Whether the text contains a forbidden term."""
        return any(term.is_in(text, ended=ended) for term in self.forbidden)


class PartialMatch(NamedTuple):
    """A token sequence of a required term, of which `n_done` tokens are decoded."""

    group: int
    tokens: tuple[int, ...]
    n_done: int


class ConstraintState(NamedTuple):
    """The progress of a hypothesis with its constraints."""

    text: str
    met: frozenset[int]
    """Required groups with a term in the text, if it ends here."""
    matches: tuple[PartialMatch, ...]
    n_left: int
    """Tokens left of the partial match that is nearest to its end."""
    may_end: bool
    """Whether the text contains no forbidden term, if it ends here."""

    @property
    def level(self) -> tuple[int, int, bool]:
        """Progress; a text that may not end must continue its last word into a longer one."""
        return len(self.met), -self.n_left, self.may_end


INITIAL = ConstraintState("", frozenset(), (), _IDLE, True)


class TextSoFar:
    """Decodes hypotheses that grow token by token, without decoding all tokens each time.

    The text that a token adds is cached. At the start of a text and inside a character it depends
    on the neighbours, and all tokens are decoded.
    """

    def __init__(self, text: Text) -> None:
        self.decode = text
        self._added: dict[int, str] = {}

    def grow(self, before: str, tokens: tuple[int, ...]) -> str:
        """The text of `tokens`; `before` is the text without the last token."""
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
    """Tracks how hypotheses of a sentence meet its constraints."""

    def __init__(self, constraints: Constraints, texts: TextSoFar) -> None:
        self.constraints = constraints
        self._texts = texts
        self._can_start: dict[tuple[str, tuple[int, ...]], bool] = {}

    def follow(
        self, before: str, tokens: tuple[int, ...], matches: Sequence[PartialMatch]
    ) -> ConstraintState | None:
        """The state of a hypothesis after its last token; None if it contains a forbidden term.

        Args:
            before: its text without the last token.
            matches: the partial matches before the last token, and those that may start with it.
        """
        if not self.constraints:
            return INITIAL
        text = self._texts.grow(before, tokens)
        if self.constraints.is_broken(text, ended=False):
            return None
        met = self._met(text)
        continued = []
        for match in matches:
            n_done = match.n_done + 1
            # If a sequence is complete but its term is not met, it was joined to other letters.
            is_partial = match.group not in met and n_done < len(match.tokens)
            if is_partial and match.tokens[n_done - 1] == tokens[-1]:
                continued.append(match._replace(n_done=n_done))
        left = min((len(match.tokens) - match.n_done for match in continued), default=_IDLE)
        may_end = not self.constraints.is_broken(text, ended=True)
        return ConstraintState(text, met, tuple(continued), left, may_end)

    def new_matches(
        self, tokens: tuple[int, ...], state: ConstraintState
    ) -> Iterator[PartialMatch]:
        """Matches that may start after `tokens` and give whole words."""
        if state.text.endswith(_MID_CHARACTER):
            return
        for number, group in enumerate(self.constraints.possible):
            if number in state.met:
                continue
            for term in group:
                for sequence in term.token_sequences:
                    key = (state.text[-1:], sequence)
                    if key not in self._can_start:
                        after = self._texts.decode((*tokens, *sequence))
                        fits = term.is_in(after) and term.fits(state.text, after)
                        self._can_start[key] = fits
                    if self._can_start[key]:
                        yield PartialMatch(number, sequence, 0)

    def is_complete(self, state: ConstraintState) -> bool:
        """Whether all groups that can be met are met, if the text ends here."""
        return len(state.met) == len(self.constraints.possible)

    def n_allowed(self, tokens: tuple[int, ...]) -> int:
        """The number of tokens to keep so that the text ends without a forbidden term."""
        n = len(tokens)
        while n and self.constraints.is_broken(self._texts.decode(tokens[:n]), ended=True):
            n -= 1
        return n

    def unmet(self, tokens: tuple[int, ...]) -> tuple[str, ...]:
        """The required groups that are missing if the text ends here."""
        if not self.constraints.required:
            return ()
        return self.constraints.unmet(self._texts.decode(tokens))

    def _met(self, text: str) -> frozenset[int]:
        return frozenset(
            number
            for number, group in enumerate(self.constraints.possible)
            if any(term.is_in(text) for term in group)
        )

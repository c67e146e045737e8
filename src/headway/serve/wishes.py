"""What is wished of translations: terms, beginnings, a glossary; checked before it may wait."""

from collections.abc import Sequence

from ..api import Glossary, Request, Translator
from ..api.pieces import Cutter
from ..api.request import Term
from ..data.glossary import Entry
from ..search import SearchConfig
from .checks import Refusal, check_characters, refusing
from .engine import Wish
from .limits import Limits
from .schema import Text, TranslateRequest

TEXT = "text"
"""What the one text of an inspection is called."""


class Wishes:
    """Makes wishes of what requests say."""

    def __init__(self, trained: Translator, limits: Limits) -> None:
        self.trained, self.limits = trained, limits

    def all(self, asked: TranslateRequest) -> list[Wish]:
        """The texts with all that is wished of each, the glossary's terms among it.

        Raises:
            Refusal: it is too much, or cannot be done.
        """
        if len(asked.glossary) > self.limits.glossary:
            raise Refusal(
                f"glossary has {len(asked.glossary)} entries and at most {self.limits.glossary} "
                "may be given",
                "glossary",
            )
        glossary = self._glossary(asked)
        wishes = []
        for number, given in enumerate(asked.texts):
            text = Text(source=given) if isinstance(given, str) else given
            wishes.append(self.one(text, f"texts[{number}]", glossary))
        return wishes

    def one(self, text: Text, place: str, glossary: Glossary | None = None) -> Wish:
        """A text with all terms that hold for it, if they are not too many."""
        self._check_text(text, place)
        found = glossary.terms_for(text.source) if glossary is not None else ([], [])
        require: list[Term] = [*text.require, *found[0]]
        forbid = [*text.forbid, *found[1]]
        for name, terms in (("required", require), ("forbidden", forbid)):
            if len(terms) > self.limits.terms:
                raise Refusal(
                    f"{place} has {len(terms)} {name} terms and at most {self.limits.terms} may be "
                    "given",
                    place,
                )
        return Wish(place, Request(text.source, require, forbid, text.prefix))

    def check(self, wish: Wish, search: SearchConfig) -> None:
        """Refuses what no search could do."""
        task, request = self.trained.task, wish.request
        begins_only = not (request.require or request.forbid)
        if search.method != "beam" and not (search.method == "sample" and begins_only):
            asked = "beginnings" if begins_only else "terms"
            raise Refusal(
                f"this run searches by {search.method}, which knows no {asked}", wish.place
            )
        cutter = Cutter(task.source, task.target, self.trained.max_length)
        with refusing(wish.place):
            pieces = cutter.cut([request], [wish.place])
        for piece in pieces:
            given = len(piece.prefix.tokens) + len(piece.prefix.opening)
            room = search.max_length - search.max_extra - 1
            if given > max(0, room):
                raise Refusal(
                    f"the prefix of {wish.place} has {given} tokens, which leaves no room in an "
                    f"output of at most {search.max_length}; shorten it",
                    _beginning(wish.place),
                )

    def _glossary(self, asked: TranslateRequest) -> Glossary | None:
        entries: dict[str, Entry] = {}
        for number, one in enumerate(asked.glossary):
            place = f"glossary[{number}]"
            self._check_terms([one.source, *one.require, *one.forbid], place)
            source = " ".join(one.source.split())
            entry = Entry(tuple(one.require), tuple(one.forbid))
            entries[source] = entries.get(source, Entry()) + entry
        return Glossary(entries) if entries else None

    def _check_text(self, text: Text, place: str) -> None:
        check_characters(self.limits, text.source, place)
        check_characters(self.limits, text.prefix, _beginning(place))
        self._check_terms([term for group in text.require for term in _alternatives(group)], place)
        self._check_terms(text.forbid, place)

    def _check_terms(self, terms: Sequence[str], place: str) -> None:
        most = self.limits.terms**2
        if len(terms) > most:
            raise Refusal(f"{place} has {len(terms)} terms and at most {most} may be given", place)
        if not all(term.split() for term in terms):
            raise Refusal(f"{place} has an empty term; give a word or leave it out", place)
        for term in terms:
            check_characters(self.limits, term, place)


def is_special(wish: Wish) -> bool:
    """Whether something is wished."""
    request = wish.request
    return bool(request.require or request.forbid or request.prefix.strip())


def _beginning(place: str) -> str:
    """Where the beginning of an output stands in a request."""
    return "prefix" if place == TEXT else f"{place}.prefix"


def _alternatives(group: str | list[str]) -> list[str]:
    return [group] if isinstance(group, str) else group

"""Translation requests: terms, prefixes and a glossary, checked before a text may wait."""

from collections.abc import Sequence

from ..data.glossary import Entry, Glossary
from ..inference.requests import RequestEncoder, Term, TranslationRequest
from ..inference.translator import Translator
from ..search import SearchConfig
from .engine import TranslationItem
from .limits import InvalidRequest, Limits, as_invalid_request, check_characters
from .schema import Text, TranslateRequest

TEXT = "text"
"""The field with the one text of an inspection."""


class TranslationRequests:
    """Makes translation items from requests."""

    def __init__(self, trained: Translator, limits: Limits) -> None:
        self.trained, self.limits = trained, limits

    def make_items(self, request: TranslateRequest) -> list[TranslationItem]:
        """The texts of a request with their constraints, those of the glossary included.

        Raises:
            InvalidRequest: a limit is exceeded, or something cannot be done.
        """
        if len(request.glossary) > self.limits.glossary:
            raise InvalidRequest(
                f"glossary has {len(request.glossary)} entries and at most {self.limits.glossary} "
                "are allowed",
                "glossary",
            )
        glossary = self._glossary(request)
        items = []
        for number, value in enumerate(request.texts):
            text = Text(source=value) if isinstance(value, str) else value
            items.append(self.make_item(text, f"texts[{number}]", glossary))
        return items

    def make_item(
        self, text: Text, field: str, glossary: Glossary | None = None
    ) -> TranslationItem:
        """A text with the terms that apply to it, if they are not too many."""
        self._check_text(text, field)
        required, forbidden = glossary.terms_for(text.source) if glossary is not None else ([], [])
        require: list[Term] = [*text.require, *required]
        forbid = [*text.forbid, *forbidden]
        for name, terms in (("required", require), ("forbidden", forbid)):
            if len(terms) > self.limits.terms:
                raise InvalidRequest(
                    f"{field} has {len(terms)} {name} terms and at most {self.limits.terms} are "
                    "allowed",
                    field,
                )
        return TranslationItem(field, TranslationRequest(text.source, require, forbid, text.prefix))

    def check(self, item: TranslationItem, search: SearchConfig) -> None:
        """Refuses constraints that the search does not support or cannot meet."""
        task, request = self.trained.task, item.request
        is_prefix_only = not (request.require or request.forbid)
        if search.method != "beam" and not (search.method == "sample" and is_prefix_only):
            unsupported = "prefixes" if is_prefix_only else "terms"
            raise InvalidRequest(
                f"this run searches by {search.method}, which supports no {unsupported}", item.field
            )
        encoder = RequestEncoder(task.source, task.target, self.trained.max_length)
        with as_invalid_request(item.field):
            segments = encoder.cut([request], [item.field])
        for segment in segments:
            n_tokens = len(segment.prefix.tokens) + len(segment.prefix.opening)
            room = search.max_length - search.max_extra - 1
            if n_tokens > max(0, room):
                raise InvalidRequest(
                    f"the prefix of {item.field} has {n_tokens} tokens, which leaves no room in an "
                    f"output of at most {search.max_length}; shorten it",
                    _prefix_field(item.field),
                )

    def _glossary(self, request: TranslateRequest) -> Glossary | None:
        entries: dict[str, Entry] = {}
        for number, term in enumerate(request.glossary):
            self._check_terms([term.source, *term.require, *term.forbid], f"glossary[{number}]")
            source = " ".join(term.source.split())
            entry = Entry(tuple(term.require), tuple(term.forbid))
            entries[source] = entries.get(source, Entry()) + entry
        return Glossary(entries) if entries else None

    def _check_text(self, text: Text, field: str) -> None:
        check_characters(self.limits, text.source, field)
        check_characters(self.limits, text.prefix, _prefix_field(field))
        self._check_terms([term for group in text.require for term in _alternatives(group)], field)
        self._check_terms(text.forbid, field)

    def _check_terms(self, terms: Sequence[str], field: str) -> None:
        most = self.limits.terms**2
        if len(terms) > most:
            raise InvalidRequest(
                f"{field} has {len(terms)} terms and at most {most} are allowed", field
            )
        if not all(term.split() for term in terms):
            raise InvalidRequest(f"{field} has an empty term; write a word or leave it out", field)
        for term in terms:
            check_characters(self.limits, term, field)


def has_constraints(item: TranslationItem) -> bool:
    """Whether the translation has required or forbidden terms, or a prefix."""
    request = item.request
    return bool(request.require or request.forbid or request.prefix.strip())


def _prefix_field(field: str) -> str:
    """The field with the prefix of a text, from the field with the text."""
    return "prefix" if field == TEXT else f"{field}.prefix"


def _alternatives(group: str | list[str]) -> list[str]:
    return [group] if isinstance(group, str) else group

"""Where requests come in: each is checked against the limits and the run before it may wait.

What passes here can be computed, so that one client's mistake does not reach the batches of others.
Knows nothing of HTTP: a refusal is an exception with the part of the request that it is about.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from ..api import Classifier, Glossary, LanguageModel, Request, Translator
from ..api.ctranslate2_engine import require_matched
from ..api.inspecting import BLANK
from ..api.pieces import Cutter, check_length
from ..api.request import Term
from ..api.trained import Trained
from ..api.translator import Engine as Library
from ..data.codecs import TextCodec
from ..data.glossary import Entry
from ..errors import ConfigError, DataError
from ..models import FAMILIES
from ..search import SearchConfig
from .engine import Ask, Verb, Wish
from .limits import Limits
from .schema import (
    InspectRequest,
    PredictRequest,
    ScoreRequest,
    Searching,
    Text,
    TranslateRequest,
)
from .watch import Watch

VERBS: Mapping[type[Trained], tuple[Verb, ...]] = {
    Translator: ("translate", "score", "inspect"),
    LanguageModel: ("score", "inspect"),
    Classifier: ("predict", "inspect"),
}
SHORTEN = "shorten it, or give its sentences one by one"
TEXT = "text"
"""What the one text of an inspection is called."""
WISHES = ("beam", "alpha", "n_best", "max_length", "require", "forbid", "prefix")
"""What can be wished of a search alone."""


class Refusal(Exception):
    """A request that cannot be answered, in one sentence.

    Attributes:
        field: the part of the request that is meant.
    """

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class Order:
    """A request that may wait: texts, of all of which the same is wanted.

    Attributes:
        lengths: tokens of each.
        width: hypotheses for each.
        field: where each stood in the request.
    """

    ask: Ask
    items: list[Any]
    lengths: list[int]
    width: int = 1
    field: str = "texts[{}]"


class Desk(Watch):
    """Takes the requests for one run, which can still be watched.

    Args:
        library: what computes where it can: CTranslate2 leaves terms, beginnings and traces to
            headway.
    """

    def __init__(
        self, name: str, trained: Trained, limits: Limits, library: Library = "headway"
    ) -> None:
        super().__init__(name, trained.run, trained.config)
        self.limits, self.library = limits, library
        self.trained: Any = trained
        # Any run can be watched; requests hold single texts.
        is_pair = isinstance(trained, Classifier) and trained.is_pair
        self.verbs = () if is_pair else VERBS.get(type(trained), ())
        # Settings are few and checking them takes longer than the rest of a small request.
        self._settings = lru_cache(256)(self.trained.search_config)
        if isinstance(trained, Translator):
            self._wide_settings = lru_cache(256)(trained.wide_search)

    def info(self) -> dict[str, Any]:
        known = super().info() | {"parameters": self.trained.n_parameters}
        if isinstance(self.trained, Translator):
            family = FAMILIES[self.config.model.family]
            known |= {"engine": self.library, "attends": "attend" in family.abilities}
            known |= {"search": asdict(self.config.search)}
        if isinstance(self.trained, Classifier):
            known |= {"labels": list(self.trained.labels)}
        return known

    def translate(self, asked: TranslateRequest) -> Order:
        """What is to be done for a request.

        Raises:
            Refusal: it is too much, or cannot be done.
        """
        self._check_verb("translate")
        self._check_number(asked.texts, "texts")
        search = self._search(asked)
        if asked.trace and search.method != "beam":
            raise Refusal(f"this run searches by {search.method}, which has no trace", "trace")
        wishes = self._wishes(asked)
        lengths = self._lengths(
            self._reading, [w.request.source for w in wishes], "texts[{}]", self._longest
        )
        is_plain = not asked.trace and not any(map(_is_special, wishes))
        for wish in filter(_is_special, wishes):
            self._check_wish(wish, search)
        ask = Ask(
            self.name,
            "translate",
            search,
            self._library(search) if is_plain else "headway",
            asked.align,
            asked.trace,
            asked.attention,
            self.limits.cells,
        )
        return Order(ask, wishes, lengths, _width(search))

    def score(self, asked: ScoreRequest) -> Order:
        """The same for pairs or texts to score."""
        self._check_verb("score")
        ask = Ask(self.name, "score")
        if isinstance(self.trained, LanguageModel):
            if asked.texts is None or asked.pairs is not None:
                raise Refusal("a language model scores texts; give texts and no pairs", "texts")
            return Order(ask, *self._plain(asked.texts))
        if asked.pairs is None or asked.texts is not None:
            raise Refusal("this model scores pairs; give pairs and no texts", "pairs")
        self._check_number(asked.pairs, "pairs")
        sides = [("source", self.trained.task.source), ("target", self.trained.task.target)]
        lengths = []
        for side, codec in sides:
            texts = [getattr(pair, side) for pair in asked.pairs]
            place = f"pairs[{{}}].{side}"
            self._check_characters(texts, place)
            lengths.append(self._lengths(codec, texts, place, self._longest))
        pairs = [(pair.source, pair.target) for pair in asked.pairs]
        longer = [max(each) for each in zip(*lengths, strict=True)]
        return Order(ask, pairs, longer, field="pairs[{}]")

    def predict(self, asked: PredictRequest) -> Order:
        """The same for texts to label."""
        self._check_verb("predict")
        return Order(Ask(self.name, "predict"), *self._plain(asked.texts))

    def inspect(self, asked: InspectRequest) -> Order:
        """The same for a text to look at."""
        self._check_verb("inspect")
        text = Text(
            source=asked.text, require=asked.require, forbid=asked.forbid, prefix=asked.prefix
        )
        self._check_text(text, TEXT)
        wish = self._wish(text, TEXT, text.require, text.forbid)
        if wish.request.is_blank:
            raise Refusal(BLANK, TEXT)
        search, width, n_outputs = None, 1, 1
        if isinstance(self.trained, Translator):
            search = self._search(asked, is_wide=True)
            width, n_outputs = _width(search), search.n_best
        else:
            self._check_not_wished(asked)
            if isinstance(self.trained, Classifier):
                n_outputs = len(self.trained.labels)
        if asked.output >= n_outputs:
            raise Refusal(
                f"output is {asked.output}, and there are {n_outputs}, counted from 0", "output"
            )
        lengths = self._lengths(self._reading, [asked.text], TEXT, self._longest)
        if search is not None and _is_special(wish):
            self._check_wish(wish, search)
        size = self.limits.inspection
        ask = Ask(self.name, "inspect", search, output=asked.output, size=size)
        return Order(ask, [wish], lengths, width, TEXT)

    @property
    def _reading(self) -> TextCodec:
        """How a text is read."""
        task = self.trained.task
        codec: TextCodec = task.source if isinstance(self.trained, Translator) else task.codec
        return codec

    @property
    def _longest(self) -> int:
        """Tokens that the model reads at once."""
        if isinstance(self.trained, LanguageModel):
            return self.trained.window
        longest: int = self.trained.max_length
        return longest

    def _check_not_wished(self, asked: InspectRequest) -> None:
        """Refuses settings of a search where there is none."""
        for name in WISHES:
            if getattr(asked, name) not in (None, [], ""):
                raise Refusal(
                    f"{name} is for a search, and model {self.name!r} was trained for task "
                    f"{self.config.task!r}; leave it out",
                    name,
                )

    def _plain(self, texts: list[str]) -> tuple[list[str], list[int]]:
        self._check_number(texts, "texts")
        self._check_characters(texts, "texts[{}]")
        if isinstance(self.trained, LanguageModel):  # any length: there are windows
            return texts, [len(ids) for ids in self._reading.encode_batch(texts)]
        return texts, self._lengths(self._reading, texts, "texts[{}]", self._longest)

    def _check_verb(self, verb: Verb) -> None:
        if verb not in self.verbs:
            fitting = " or ".join(f"/{one}" for one in self.verbs)
            remedy = f"ask {fitting}" if fitting else "it can be watched, and nothing asked"
            raise Refusal(
                f"model {self.name!r} was trained for task {self.config.task!r}; {remedy}",
                "model",
            )

    def _check_number(self, texts: Sequence[object], field: str) -> None:
        if len(texts) > self.limits.texts:
            raise Refusal(
                f"{field} has {len(texts)} entries and at most {self.limits.texts} may be given; "
                "ask several times",
                field,
            )

    def _check_characters(self, texts: Sequence[str], place: str) -> None:
        """Refuses long texts before anything is done with them."""
        for number, text in enumerate(texts):
            if len(text) > self.limits.characters:
                raise Refusal(
                    f"{place.format(number)} has {len(text)} characters and at most "
                    f"{self.limits.characters} may be given; {SHORTEN}",
                    place.format(number),
                )

    def _lengths(
        self, codec: TextCodec, texts: Sequence[str], place: str, longest: int
    ) -> list[int]:
        """Tokens of each text, if the model can take so many."""
        lengths = [len(ids) for ids in codec.encode_batch(list(texts))]
        for number, length in enumerate(lengths):
            try:
                check_length(length, longest, place.format(number), SHORTEN)
            except DataError as error:
                raise Refusal(str(error), place.format(number)) from None
        return lengths

    def _search(self, asked: Searching, is_wide: bool = False) -> SearchConfig:
        """The settings of the run with those of the request.

        Args:
            is_wide: whether all that ended in the beam is told, unless the request says how many.
        """
        usual = self.config.search
        most = {"beam": max(self.limits.beam, usual.beam), "max_length": usual.max_length}
        if usual.method == "sample":
            most["n_best"] = max(self.limits.beam, usual.n_best)
        for name, limit in most.items():
            if (value := getattr(asked, name)) is not None and value > limit:
                raise Refusal(f"{name} is {value} and may be at most {limit} here", name)
        given = {name: getattr(asked, name) for name in ("beam", "alpha", "n_best", "max_length")}
        try:
            search: SearchConfig = (self._wide_settings if is_wide else self._settings)(**given)
        except ConfigError as error:
            raise Refusal(str(error)) from None
        return search

    def _library(self, search: SearchConfig) -> Library:
        """The library that was asked for, if it knows such a search."""
        try:
            if self.library == "ctranslate2":
                require_matched(search)
        except ConfigError:
            return "headway"
        return self.library

    def _wishes(self, asked: TranslateRequest) -> list[Wish]:
        """The texts with all that is wished of each, the glossary's terms among it."""
        if len(asked.glossary) > self.limits.glossary:
            raise Refusal(
                f"glossary has {len(asked.glossary)} entries and at most {self.limits.glossary} "
                "may be given",
                "glossary",
            )
        glossary = self._glossary(asked)
        wishes = []
        for number, given in enumerate(asked.texts):
            place = f"texts[{number}]"
            text = Text(source=given) if isinstance(given, str) else given
            self._check_text(text, place)
            found = glossary.terms_for(text.source) if asked.glossary else ([], [])
            require: list[Term] = [*text.require, *found[0]]
            wishes.append(self._wish(text, place, require, [*text.forbid, *found[1]]))
        return wishes

    def _wish(self, text: Text, place: str, require: Sequence[Term], forbid: Sequence[str]) -> Wish:
        """A text with all terms that hold for it, if they are not too many."""
        for name, terms in (("required", require), ("forbidden", forbid)):
            if len(terms) > self.limits.terms:
                raise Refusal(
                    f"{place} has {len(terms)} {name} terms and at most {self.limits.terms} may be "
                    "given",
                    place,
                )
        return Wish(place, Request(text.source, require, forbid, text.prefix))

    def _glossary(self, asked: TranslateRequest) -> Glossary:
        entries: dict[str, Entry] = {}
        for number, one in enumerate(asked.glossary):
            place = f"glossary[{number}]"
            terms = [one.source, *one.require, *one.forbid]
            self._check_terms(terms, place)
            source = " ".join(one.source.split())
            entry = Entry(tuple(one.require), tuple(one.forbid))
            entries[source] = entries.get(source, Entry()) + entry
        return Glossary(entries)

    def _check_text(self, text: Text, place: str) -> None:
        for name in ("source", "prefix"):
            where = place if name == "source" else _beginning(place)
            self._check_characters([getattr(text, name)], where)
        self._check_terms([term for group in text.require for term in _alternatives(group)], place)
        self._check_terms(text.forbid, place)

    def _check_terms(self, terms: Sequence[str], place: str) -> None:
        most = self.limits.terms**2
        if len(terms) > most:
            raise Refusal(f"{place} has {len(terms)} terms and at most {most} may be given", place)
        if not all(term.split() for term in terms):
            raise Refusal(f"{place} has an empty term; give a word or leave it out", place)
        self._check_characters(terms, place)

    def _check_wish(self, wish: Wish, search: SearchConfig) -> None:
        """Refuses what no search could do."""
        task, request = self.trained.task, wish.request
        begins_only = not (request.require or request.forbid)
        if search.method != "beam" and not (search.method == "sample" and begins_only):
            asked = "beginnings" if begins_only else "terms"
            raise Refusal(
                f"this run searches by {search.method}, which knows no {asked}", wish.place
            )
        cutter = Cutter(task.source, task.target, self.trained.max_length)
        try:
            pieces = cutter.cut([request], [wish.place])
        except DataError as error:
            raise Refusal(str(error), wish.place) from None
        for piece in pieces:
            given = len(piece.prefix.tokens) + len(piece.prefix.opening)
            room = search.max_length - search.max_extra - 1
            if given > max(0, room):
                raise Refusal(
                    f"the prefix of {wish.place} has {given} tokens, which leaves no room in an "
                    f"output of at most {search.max_length}; shorten it",
                    _beginning(wish.place),
                )


def _is_special(wish: Wish) -> bool:
    request = wish.request
    return bool(request.require or request.forbid or request.prefix.strip())


def _beginning(place: str) -> str:
    """Where the beginning of an output stands in a request."""
    return "prefix" if place == TEXT else f"{place}.prefix"


def _width(search: SearchConfig) -> int:
    return search.n_best if search.method == "sample" else search.beam


def _alternatives(group: str | list[str]) -> list[str]:
    return [group] if isinstance(group, str) else group

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
from .schema import PredictRequest, ScoreRequest, Text, TranslateRequest

VERBS: Mapping[type[Trained], tuple[Verb, ...]] = {
    Translator: ("translate", "score"),
    LanguageModel: ("score",),
    Classifier: ("predict",),
}
SHORTEN = "shorten it, or give its sentences one by one"


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
    """

    ask: Ask
    items: list[Any]
    lengths: list[int]
    width: int = 1


class Desk:
    """Takes the requests for one run.

    Args:
        library: what computes where it can: CTranslate2 leaves terms, beginnings and traces to
            headway.
    """

    def __init__(
        self, name: str, trained: Trained, limits: Limits, library: Library = "headway"
    ) -> None:
        self.name, self.limits, self.library = name, limits, library
        self.trained: Any = trained
        self.verbs = VERBS[type(trained)]
        # Settings are few and checking them takes longer than the rest of a small request.
        self._settings = lru_cache(256)(self.trained.search_config)

    def info(self) -> dict[str, Any]:
        """What a client may know of the run."""
        config = self.trained.config
        translates = "translate" in self.verbs
        return {
            "name": self.name,
            "task": config.task,
            "family": config.model.family,
            "parameters": self.trained.n_parameters,
            "max_length": self.trained.max_length,
            "verbs": list(self.verbs),
            "engine": self.library if translates else "headway",
            "attends": translates and "attend" in FAMILIES[config.model.family].abilities,
            "search": asdict(config.search) if translates else None,
            "labels": list(self.trained.labels) if "predict" in self.verbs else None,
        }

    def translate(self, asked: TranslateRequest) -> Order:
        """What is to be done for a request.

        Raises:
            Refusal: it is too much, or cannot be done.
        """
        self._check_verb("translate")
        self._check_number(asked.texts, "texts")
        search = self._search(asked)
        wishes = self._wishes(asked)
        lengths = self._lengths(
            self.trained.task.source, [w.request.source for w in wishes], "texts[{}]"
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
        width = search.n_best if search.method == "sample" else search.beam
        return Order(ask, wishes, lengths, width)

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
            lengths.append(self._lengths(codec, texts, place))
        pairs = [(pair.source, pair.target) for pair in asked.pairs]
        return Order(ask, pairs, [max(each) for each in zip(*lengths, strict=True)])

    def predict(self, asked: PredictRequest) -> Order:
        """The same for texts to label."""
        self._check_verb("predict")
        return Order(Ask(self.name, "predict"), *self._plain(asked.texts))

    def _plain(self, texts: list[str]) -> tuple[list[str], list[int]]:
        self._check_number(texts, "texts")
        self._check_characters(texts, "texts[{}]")
        codec = self.trained.task.codec
        if isinstance(self.trained, LanguageModel):  # any length: there are windows
            return texts, [len(ids) for ids in codec.encode_batch(texts)]
        return texts, self._lengths(codec, texts, "texts[{}]")

    def _check_verb(self, verb: Verb) -> None:
        if verb not in self.verbs:
            fitting = " or ".join(f"/{one}" for one in self.verbs)
            raise Refusal(
                f"model {self.name!r} was trained for task {self.trained.config.task!r}; "
                f"ask {fitting}",
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

    def _lengths(self, codec: TextCodec, texts: Sequence[str], place: str) -> list[int]:
        """Tokens of each text, if the model can take so many."""
        lengths = [len(ids) for ids in codec.encode_batch(list(texts))]
        for number, length in enumerate(lengths):
            try:
                check_length(length, self.trained.max_length, place.format(number), SHORTEN)
            except DataError as error:
                raise Refusal(str(error), place.format(number)) from None
        return lengths

    def _search(self, asked: TranslateRequest) -> SearchConfig:
        """The settings of the run with those of the request."""
        usual = self.trained.config.search
        most = {"beam": max(self.limits.beam, usual.beam), "max_length": usual.max_length}
        if usual.method == "sample":
            most["n_best"] = max(self.limits.beam, usual.n_best)
        for name, limit in most.items():
            if (value := getattr(asked, name)) is not None and value > limit:
                raise Refusal(f"{name} is {value} and may be at most {limit} here", name)
        given = {name: getattr(asked, name) for name in ("beam", "alpha", "n_best", "max_length")}
        try:
            search: SearchConfig = self._settings(**given)
        except ConfigError as error:
            raise Refusal(str(error)) from None
        if asked.trace and search.method != "beam":
            raise Refusal(f"this run searches by {search.method}, which has no trace", "trace")
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
            forbid = [*text.forbid, *found[1]]
            for name, terms in (("required", require), ("forbidden", forbid)):
                if len(terms) > self.limits.terms:
                    raise Refusal(
                        f"{place} has {len(terms)} {name} terms and at most {self.limits.terms} "
                        "may be given",
                        place,
                    )
            wishes.append(Wish(place, Request(text.source, require, forbid, text.prefix)))
        return wishes

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
            where = place if name == "source" else f"{place}.prefix"
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
                    f"{wish.place}.prefix",
                )


def _is_special(wish: Wish) -> bool:
    request = wish.request
    return bool(request.require or request.forbid or request.prefix.strip())


def _alternatives(group: str | list[str]) -> list[str]:
    return [group] if isinstance(group, str) else group

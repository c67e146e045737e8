"""Where requests come in: each is checked against the limits and the run before it may wait.

What passes here can be computed, so that one client's mistake does not reach the batches of others.
Knows nothing of HTTP. What is wished of translations is read in `wishes`.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property, lru_cache
from typing import Any, get_args

from ..api import LanguageModel, Predictor, Pretrained, Translator
from ..api.ctranslate2_engine import require_matched
from ..api.filling import Gaps
from ..api.inspecting import BLANK
from ..api.pieces import check_length
from ..api.predictor import Input
from ..api.reading import Reading
from ..api.trained import Trained
from ..api.translator import Engine as Library
from ..errors import ConfigError
from ..models import FAMILIES
from ..search import SearchConfig
from . import schema
from .checks import SHORTEN, Refusal, check_characters, check_number, refusing
from .engine import Ask, Verb
from .limits import Limits
from .watch import Watch
from .wishes import TEXT, Wishes, is_special

SEARCHED = ("beam", "alpha", "n_best", "max_length", "require", "forbid", "prefix", "output")
"""What an inspection can say of a search alone."""
SETTINGS = {"translate": "search_config", "inspect": "wide_search", "generate": "writing_config"}
"""Which method of a run completes the settings of a search, by what is asked."""
NAMES = frozenset(one.name for one in fields(SearchConfig))


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
        self.verbs = verbs_of(trained)
        # Settings are few and checking them takes longer than the rest of a small request.
        self._settings = lru_cache(256)(self._completed)
        if isinstance(trained, Translator):
            self._wishes = Wishes(trained, limits)

    def info(self) -> dict[str, Any]:
        known = super().info() | {"parameters": self.trained.n_parameters}
        known["attends"] = "attend" in FAMILIES[self.config.model.family].abilities
        if isinstance(self.trained, Translator):
            known |= {"engine": self.library, "search": asdict(self.config.search)}
        if isinstance(self.trained, LanguageModel):
            known["search"] = asdict(self.trained.writing_config())
        if isinstance(self.trained, Predictor):
            known |= {"inputs": list(self.trained.inputs), **self.trained.known()}
        return known

    def translate(self, asked: schema.TranslateRequest) -> Order:
        """What is to be done for a request.

        Raises:
            Refusal: it is too much, or cannot be done.
        """
        self._check_verb("translate")
        check_number(self.limits, asked.texts, "texts")
        search = self._search("translate", asked)
        if asked.trace and search.method != "beam":
            raise Refusal(f"this run searches by {search.method}, which has no trace", "trace")
        wishes = self._wishes.all(asked)
        lengths = self._lengths(self.trained.length, [wish.request.source for wish in wishes])
        is_plain = not asked.trace and not any(map(is_special, wishes))
        for wish in filter(is_special, wishes):
            self._wishes.check(wish, search)
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

    def score(self, asked: schema.ScoreRequest) -> Order:
        """The same for pairs or texts to score."""
        self._check_verb("score")
        ask = Ask(self.name, "score")
        if isinstance(self.trained, LanguageModel):
            if asked.texts is None or asked.pairs is not None:
                raise Refusal("a language model scores texts; give texts and no pairs", "texts")
            self._check_texts(asked.texts)
            encoded = self.trained.task.codec.encode_batch(asked.texts)
            return Order(ask, asked.texts, [len(ids) for ids in encoded])  # any: there are windows
        if asked.pairs is None or asked.texts is not None:
            raise Refusal("this model scores pairs; give pairs and no texts", "pairs")
        check_number(self.limits, asked.pairs, "pairs")
        lengths = [self._pair_length(pair, f"pairs[{i}]") for i, pair in enumerate(asked.pairs)]
        pairs = [(pair.source, pair.target) for pair in asked.pairs]
        return Order(ask, pairs, lengths, field="pairs[{}]")

    def predict(self, asked: schema.PredictRequest) -> Order:
        """The same for inputs of which something is to be told."""
        self._check_verb("predict")
        check_number(self.limits, asked.texts, "texts")
        inputs = [self._input(given, f"texts[{i}]") for i, given in enumerate(asked.texts)]
        return Order(Ask(self.name, "predict"), inputs, self._lengths(self.trained.length, inputs))

    def generate(self, asked: schema.GenerateRequest) -> Order:
        """The same for prompts to go on with, which keep their numbers: draws depend on them."""
        self._check_verb("generate")
        self._check_texts(asked.prompts, "prompts")
        search = self._search("generate", asked)
        writer = self.trained.writer(search)

        def length(prompt: str, place: str, remedy: str) -> int:
            return len(writer.begun(prompt, place, remedy).tokens) + search.max_length

        field = "prompts[{}]"
        lengths = self._lengths(length, asked.prompts, field, "shorten it")
        ask = Ask(self.name, "generate", search)
        return Order(ask, list(enumerate(asked.prompts)), lengths, _width(search), field)

    def fill(self, asked: schema.FillRequest) -> Order:
        """The same for texts with gaps."""
        self._check_verb("fill")
        self._check_texts(asked.texts)
        lengths = self._lengths(lambda *given: len(self._gaps.framed(*given)), asked.texts)
        return Order(Ask(self.name, "fill", top=asked.top), asked.texts, lengths)

    def embed(self, asked: schema.EmbedRequest) -> Order:
        """The same for texts whose vectors are wanted."""
        self._check_verb("embed")
        self._check_texts(asked.texts)
        ask = Ask(self.name, "embed", pooling=asked.pooling, normalise=asked.normalise)
        return Order(ask, asked.texts, self._lengths(self._reading.length, asked.texts))

    def inspect(self, asked: schema.InspectRequest) -> Order:
        """The same for a text to look at."""
        self._check_verb("inspect")
        if isinstance(self.trained, Translator):
            return self._inspect_search(asked)
        for name in SEARCHED:
            if getattr(asked, name) not in (None, [], "", 0):
                raise Refusal(
                    f"{name} is for a search, and model {self.name!r} was trained for task "
                    f"{self.config.task!r}; leave it out",
                    name,
                )
        given = self._input(asked.text, TEXT)
        if not "".join(given).strip():
            raise Refusal(BLANK, TEXT)
        lengths = self._lengths(self.trained.length, [given], TEXT)
        ask = Ask(self.name, "inspect", size=self.limits.inspection)
        return Order(ask, [given], lengths, field=TEXT)

    def _inspect_search(self, asked: schema.InspectRequest) -> Order:
        given = {name: getattr(asked, name) for name in ("require", "forbid", "prefix")}
        source = self._input(asked.text, TEXT)
        assert isinstance(source, str)
        wish = self._wishes.one(schema.Text(source=source, **given), TEXT)
        if wish.request.is_blank:
            raise Refusal(BLANK, TEXT)
        search = self._search("inspect", asked)
        if asked.output >= search.n_best:
            raise Refusal(
                f"output is {asked.output}, and there are {search.n_best}, counted from 0", "output"
            )
        lengths = self._lengths(self.trained.length, [source], TEXT)
        if is_special(wish):
            self._wishes.check(wish, search)
        ask = Ask(self.name, "inspect", search, output=asked.output, size=self.limits.inspection)
        return Order(ask, [wish], lengths, _width(search), TEXT)

    @cached_property
    def _reading(self) -> Reading:
        return Reading(self.trained)

    @cached_property
    def _gaps(self) -> Gaps:
        return Gaps(self.trained)

    def _input(self, given: str | schema.Input, place: str) -> Input:
        """What a model reads at once: a text, or as many as it has columns."""
        names = self.trained.inputs if isinstance(self.trained, Predictor) else (TEXT,)
        parts = {TEXT: given} if isinstance(given, str) else given.model_dump(exclude_none=True)
        is_text = isinstance(given, str)
        if is_text != (len(names) == 1) or not (is_text or parts.keys() == set(names)):
            shape = "{" + ", ".join(f'"{name}": "..."' for name in names) + "}"
            expected = "a text" if len(names) == 1 else f"an object {shape}"
            raise Refusal(
                f"model {self.name!r} reads {' and '.join(names)}; give {expected}", place
            )
        for name, text in parts.items():
            check_characters(self.limits, text, place if is_text else f"{place}.{name}")
        return given if isinstance(given, str) else tuple(parts[name] for name in names)

    def _check_texts(self, texts: Sequence[str], field: str = "texts") -> None:
        check_number(self.limits, texts, field)
        for number, text in enumerate(texts):
            check_characters(self.limits, text, f"{field}[{number}]")

    def _check_verb(self, verb: Verb) -> None:
        if verb not in self.verbs:
            fitting = " or ".join(f"/{one}" for one in self.verbs)
            remedy = f"ask {fitting}" if fitting else "it can be watched, and nothing asked"
            raise Refusal(
                f"model {self.name!r} was trained for task {self.config.task!r}; {remedy}",
                "model",
            )

    def _lengths(
        self,
        length: Callable[[Any, str, str], int],
        texts: Sequence[Any],
        field: str = "texts[{}]",
        remedy: str = SHORTEN,
    ) -> list[int]:
        """Tokens of each text, if the model can take so many.

        Args:
            length: of a text, from its place and what to do about one that is too long.
        """
        lengths = []
        for number, text in enumerate(texts):
            with refusing(place := field.format(number)):
                lengths.append(length(text, place, remedy))
        return lengths

    def _pair_length(self, pair: schema.Pair, place: str) -> int:
        """Tokens of the longer side."""
        longest = 0
        for side in ("source", "target"):
            where, text = f"{place}.{side}", getattr(pair, side)
            check_characters(self.limits, text, where)
            length = len(getattr(self.trained.task, side).encode_batch([text])[0])
            with refusing(where):
                check_length(length, self.trained.max_length, where, SHORTEN)
            longest = max(longest, length)
        return longest

    def _search(self, verb: Verb, asked: schema.Searching) -> SearchConfig:
        """The settings of the run with those of the request."""
        usual = self.config.search
        most = {"beam": max(self.limits.beam, usual.beam)}
        most |= dict.fromkeys(("max_length", "min_length"), usual.max_length)
        if verb == "generate" or usual.method == "sample":
            most["n_best"] = max(self.limits.beam, usual.n_best)
        given = {name: value for name, value in asked if name in NAMES and value is not None}
        for name, limit in most.items():
            if given.get(name, limit) > limit:
                raise Refusal(f"{name} is {given[name]} and may be at most {limit} here", name)
        with refusing(None):
            return self._settings(verb, **given)

    def _completed(self, verb: Verb, **given: Any) -> SearchConfig:
        search: SearchConfig = getattr(self.trained, SETTINGS[verb])(**given)
        return search

    def _library(self, search: SearchConfig) -> Library:
        """The library that was asked for, if it knows such a search."""
        try:
            if self.library == "ctranslate2":
                require_matched(search)
        except ConfigError:
            return "headway"
        return self.library


def verbs_of(trained: Trained) -> tuple[Verb, ...]:
    """What may be asked of a run: what its commands do, to look at it, its vectors of texts."""
    reads = "read" in FAMILIES[trained.config.model.family].abilities
    fitting = {*trained.uses(trained.config), *(["embed"] if reads else [])}
    if reads or not isinstance(trained, Pretrained):  # of these, the others only restore texts
        fitting.add("inspect")
    every: tuple[Verb, ...] = get_args(Verb)
    return tuple(verb for verb in every if verb in fitting)


def _width(search: SearchConfig) -> int:
    return search.n_best if search.method == "sample" else search.beam

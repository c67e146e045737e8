"""Validation: each request is checked against the limits and the run before it may wait.

A valid request can be computed, so that one client's mistake does not reach the batches of others.
Knows nothing of HTTP. Constraints on translations are checked in `translation_requests`.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, get_args

from ..data.config import reads_series
from ..errors import ConfigError, RunError
from ..inference.base import TrainedModel
from ..inference.engines import OWN, engine_module
from ..inference.masked_lm import MaskFiller
from ..inference.predictor import Input
from ..inference.requests import check_length
from ..inference.text_encoder import TextEncoder
from ..inspection.build import BLANK
from ..models import FAMILIES
from ..search import SETTINGS, SearchConfig, Setting
from . import schema
from .engine import LABELLED, BatchKey, Verb
from .example_input import example_inputs
from .limits import (
    SHORTEN,
    InvalidRequest,
    Limits,
    as_invalid_request,
    check_characters,
    check_number,
)
from .run_status import ServedRun
from .series_requests import CSV, INSPECTION_FIELDS, LabelledSeriesRequests, SeriesRequests
from .translation_requests import TEXT, TranslationRequests, has_constraints

SEARCHED = tuple(
    name
    for name in schema.InspectRequest.model_fields
    if name not in (TEXT, "model", *INSPECTION_FIELDS)
)
"""Fields of an inspection that only a search has."""
COMPLETES = {"translate": "search_config", "inspect": "wide_search", "generate": "writing_config"}
"""Methods of a run that complete the search settings, by verb."""


@dataclass(frozen=True)
class ValidatedRequest:
    """A request that may wait: its texts and their common key.

    Attributes:
        lengths: tokens of each item.
        width: hypotheses for each item.
        field: name of an item in messages, from its number.
        warnings: what the sender should know of the items.
    """

    key: BatchKey
    items: list[Any]
    lengths: list[int]
    width: int = 1
    field: str = "texts[{}]"
    warnings: tuple[str, ...] = ()


class RequestValidator(ServedRun):
    """Validates the requests for one run.

    Args:
        library: the library that computes where it can: CTranslate2 leaves terms, prefixes and
            traces to headway.
    """

    def __init__(
        self, name: str, trained: TrainedModel, limits: Limits, library: str = OWN
    ) -> None:
        super().__init__(name, trained.run, trained.config)
        self.limits, self.library = limits, library
        self.trained: Any = trained
        self.verbs = verbs_of(trained)
        # Few settings occur, and checking them takes longer than the rest of a small request.
        self._settings = lru_cache(256)(self._complete)

    def info(self) -> dict[str, Any]:
        info = super().info() | {"parameters": self.trained.n_parameters}
        info["example"] = self._example
        info["attends"] = "attend" in FAMILIES[self.config.model.family].abilities
        if "translate" in self.verbs:
            info["engine"] = self.library
        return info | self.trained.public_info()

    def translate(self, request: schema.TranslateRequest) -> ValidatedRequest:
        """A valid translation request. The methods below do the same for their verbs.

        Raises:
            InvalidRequest: a limit is exceeded, or something cannot be done.
        """
        self._check_verb("translate")
        check_number(self.limits, request.texts, "texts")
        search = self._search("translate", request)
        if request.trace and search.method != "beam":
            raise InvalidRequest(
                f"this run searches by {search.method}, which has no trace", "trace"
            )
        items = self._requests.make_items(request)
        lengths = self._lengths(self.trained.length, [item.request.source for item in items])
        is_plain = not request.trace and not any(map(has_constraints, items))
        for item in filter(has_constraints, items):
            self._requests.check(item, search)
        key = BatchKey(
            self.name,
            "translate",
            search,
            self._library(search) if is_plain else OWN,
            request.align,
            request.trace,
            request.attention,
            self.limits.cells,
        )
        return ValidatedRequest(key, items, lengths, _width(search))

    def score(self, request: schema.ScoreRequest) -> ValidatedRequest:
        """A valid request to score pairs or texts."""
        self._check_verb("score")
        key = BatchKey(self.name, "score")
        if self.trained.scored_inputs == "texts":
            if request.texts is None or request.pairs is not None:
                raise InvalidRequest(
                    "a language model scores texts; send texts and no pairs", "texts"
                )
            self._check_texts(request.texts)
            encoded = self.trained.task.codec.encode_batch(request.texts)
            lengths = [len(ids) for ids in encoded]  # any: long texts are scored in windows
            return ValidatedRequest(key, request.texts, lengths)
        if request.pairs is None or request.texts is not None:
            raise InvalidRequest("this model scores pairs; send pairs and no texts", "pairs")
        check_number(self.limits, request.pairs, "pairs")
        lengths = [self._pair_length(pair, f"pairs[{i}]") for i, pair in enumerate(request.pairs)]
        pairs = [(pair.source, pair.target) for pair in request.pairs]
        return ValidatedRequest(key, pairs, lengths, field="pairs[{}]")

    def predict(self, request: schema.PredictRequest) -> ValidatedRequest:
        """A valid request for predictions."""
        self._check_verb("predict")
        if self._reads_labelled:
            return self._predict_series(request)
        if request.series is not None or request.csv is not None:
            field = CSV if request.series is None else "series"
            raise InvalidRequest(f"model {self.name!r} reads texts; send texts", field)
        if request.texts is None:
            raise InvalidRequest("texts is missing", "texts")
        check_number(self.limits, request.texts, "texts")
        inputs = [self._input(value, f"texts[{i}]") for i, value in enumerate(request.texts)]
        return ValidatedRequest(
            BatchKey(self.name, "predict"), inputs, self._lengths(self.trained.length, inputs)
        )

    def generate(self, request: schema.GenerateRequest) -> ValidatedRequest:
        """A valid request to continue prompts, numbered because samples depend on the numbers."""
        self._check_verb("generate")
        self._check_texts(request.prompts, "prompts")
        search = self._search("generate", request)
        generator = self.trained.writer(search)

        def length(prompt: str, field: str, remedy: str) -> int:
            return len(generator.encode_prompt(prompt, field, remedy).tokens) + search.max_length

        field = "prompts[{}]"
        lengths = self._lengths(length, request.prompts, field, "shorten it")
        key = BatchKey(self.name, "generate", search)
        return ValidatedRequest(
            key, list(enumerate(request.prompts)), lengths, _width(search), field
        )

    def fill(self, request: schema.FillRequest) -> ValidatedRequest:
        """A valid request to fill masks."""
        self._check_verb("fill")
        self._check_texts(request.texts)
        lengths = self._lengths(
            lambda *text: len(self._mask_filler.add_special_tokens(*text)), request.texts
        )
        return ValidatedRequest(
            BatchKey(self.name, "fill", top=request.top), request.texts, lengths
        )

    def embed(self, request: schema.EmbedRequest) -> ValidatedRequest:
        """A valid request to embed texts."""
        self._check_verb("embed")
        self._check_texts(request.texts)
        key = BatchKey(self.name, "embed", pooling=request.pooling, normalise=request.normalise)
        lengths = self._lengths(self._text_encoder.length, request.texts)
        return ValidatedRequest(key, request.texts, lengths)

    def inspect(self, request: schema.InspectRequest) -> ValidatedRequest:
        """A valid request to inspect a text."""
        self._check_verb("inspect")
        if not self.trained.has_search:
            self._refuse_fields(request, SEARCHED, "a search")
        if self.trained.forecasts_windows:
            self._refuse_fields(request, (TEXT,), "a model of texts")
            return self._inspect_window(request)
        if self._reads_labelled:
            self._refuse_fields(request, (TEXT,), "a model of texts")
            self._refuse_fields(request, ("column", "at"), "a model that forecasts")
            return self._inspect_series(request)
        self._refuse_fields(request, INSPECTION_FIELDS, "a model of series")
        if request.text is None:
            raise InvalidRequest(f"{TEXT} is missing", TEXT)
        if self.trained.has_search:
            return self._inspect_search(request)
        text: Any = self._input(request.text, TEXT)
        if not "".join(text).strip():
            raise InvalidRequest(BLANK, TEXT)
        lengths = self._lengths(self.trained.length, [text], TEXT)
        key = BatchKey(self.name, "inspect", size=self.limits.inspection)
        return ValidatedRequest(key, [text], lengths, field=TEXT)

    def forecast(self, request: schema.ForecastRequest) -> ValidatedRequest:
        """A valid request to forecast series."""
        self._check_verb("forecast")
        trained = self.trained.task.config.horizon
        horizon, most = request.horizon or trained, max(self.limits.horizon, trained)
        if horizon > most:
            raise InvalidRequest(f"horizon is {horizon} and may be at most {most} here", "horizon")
        found = self._series.items(request.series, request.csv, horizon)
        steps = self.trained.task.inputs.n_steps * -(-horizon // trained)
        key = BatchKey(self.name, "forecast", horizon=horizon)
        field = CSV if request.series is None else "series[{}]"
        lengths = [steps] * len(found.items)
        return ValidatedRequest(
            key, list(found.items), lengths, field=field, warnings=found.warnings
        )

    @property
    def _reads_labelled(self) -> bool:
        """Whether the model predicts a label or a value of a series."""
        return reads_series(self.trained.task.columns) and not self.trained.forecasts_windows

    def _predict_series(self, request: schema.PredictRequest) -> ValidatedRequest:
        if request.texts is not None:
            raise InvalidRequest(f"model {self.name!r} reads series; send series or csv", "texts")
        found = self._labelled.items(request.series, request.csv)
        lengths = [len(row[LABELLED]) for row in found.rows]
        field = CSV if request.series is None else "series[{}]"
        key = BatchKey(self.name, "predict")
        return ValidatedRequest(
            key, list(found.items), lengths, field=field, warnings=found.warnings
        )

    def _inspect_series(self, request: schema.InspectRequest) -> ValidatedRequest:
        if isinstance(request.series, schema.SeriesInput):
            raise InvalidRequest(
                "series is an object, which is for forecasts; send a list with a number, or a list "
                "of numbers, for each step",
                "series",
            )
        found = self._labelled.chosen(request.series, request.csv, request.name)
        [item] = found.items
        key = BatchKey(self.name, "inspect", size=self.limits.inspection)
        lengths = [len(item.row[LABELLED])]
        return ValidatedRequest(key, [item], lengths, field=item.field, warnings=found.warnings)

    def _inspect_window(self, request: schema.InspectRequest) -> ValidatedRequest:
        if isinstance(request.series, list):
            raise InvalidRequest(
                "series is a list; for a forecast send an object with values or columns", "series"
            )
        given = None if request.series is None else [request.series]
        found = self._series.chosen(given, request.csv, request.name)
        [item] = found.items
        key = BatchKey(
            self.name,
            "inspect",
            size=self.limits.inspection,
            column=request.column,
            at=request.at,
        )
        lengths = [self.trained.task.inputs.n_steps]
        return ValidatedRequest(key, [item], lengths, field=item.field, warnings=found.warnings)

    def _refuse_fields(
        self, request: schema.InspectRequest, names: Sequence[str], purpose: str
    ) -> None:
        """Refuses fields that have no meaning for this run."""
        for name in names:
            if getattr(request, name) not in (None, [], "", 0):
                raise InvalidRequest(
                    f"{name} is for {purpose}, and model {self.name!r} was trained for task "
                    f"{self.config.task!r}; leave it out",
                    name,
                )

    def _inspect_search(self, request: schema.InspectRequest) -> ValidatedRequest:
        constraints = {name: getattr(request, name) for name in ("require", "forbid", "prefix")}
        assert request.text is not None
        source = self._input(request.text, TEXT)
        assert isinstance(source, str)
        item = self._requests.make_item(schema.Text(source=source, **constraints), TEXT)
        if item.request.is_blank:
            raise InvalidRequest(BLANK, TEXT)
        search = self._search("inspect", request)
        if request.output >= search.n_best:
            raise InvalidRequest(
                f"output is {request.output}, and there are {search.n_best}, counted from 0",
                "output",
            )
        lengths = self._lengths(self.trained.length, [source], TEXT)
        if has_constraints(item):
            self._requests.check(item, search)
        key = BatchKey(
            self.name, "inspect", search, output=request.output, size=self.limits.inspection
        )
        return ValidatedRequest(key, [item], lengths, _width(search), TEXT)

    @cached_property
    def _example(self) -> list[str] | None:
        """The first example that can be inspected; each text of it is of interest."""
        if reads_series(self.trained.task.columns):
            own: list[str] | None = self.trained.example()
            return own
        try:
            records = self.run.log.read()
        except RunError:  # damaged, which the path /training reports
            records = []
        for texts in example_inputs(self.trained, records):
            fields = dict(zip(self.trained.inputs, texts, strict=True))
            text = texts[0] if len(texts) == 1 else schema.Input(**fields)
            with suppress(InvalidRequest):
                if all(map(str.strip, texts)):
                    self.inspect(schema.InspectRequest(text=text))
                    return texts
        return None

    @cached_property
    def _requests(self) -> TranslationRequests:
        return TranslationRequests(self.trained, self.limits)

    @cached_property
    def _series(self) -> SeriesRequests:
        return SeriesRequests(self.trained, self.limits)

    @cached_property
    def _labelled(self) -> LabelledSeriesRequests:
        return LabelledSeriesRequests(self.trained, self.limits)

    @cached_property
    def _text_encoder(self) -> TextEncoder:
        return TextEncoder(self.trained)

    @cached_property
    def _mask_filler(self) -> MaskFiller:
        return MaskFiller(self.trained)

    def _input(self, value: str | schema.Input, field: str) -> Input:
        """The input of a model: a text, or a tuple of the texts it reads together."""
        names = self.trained.inputs
        parts = {TEXT: value} if isinstance(value, str) else value.model_dump(exclude_none=True)
        is_text = isinstance(value, str)
        if is_text != (len(names) == 1) or not (is_text or parts.keys() == set(names)):
            shape = "{" + ", ".join(f'"{name}": "..."' for name in names) + "}"
            expected = "a text" if len(names) == 1 else f"an object {shape}"
            raise InvalidRequest(
                f"model {self.name!r} reads {' and '.join(names)}; send {expected}", field
            )
        for name, text in parts.items():
            check_characters(self.limits, text, field if is_text else f"{field}.{name}")
        return value if isinstance(value, str) else tuple(parts[name] for name in names)

    def _check_texts(self, texts: Sequence[str], field: str = "texts") -> None:
        check_number(self.limits, texts, field)
        for number, text in enumerate(texts):
            check_characters(self.limits, text, f"{field}[{number}]")

    def _check_verb(self, verb: Verb) -> None:
        if verb not in self.verbs:
            paths = " or ".join(f"/{name}" for name in self.verbs)
            remedy = f"use {paths}" if paths else "only its training log can be read"
            raise InvalidRequest(
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
        """Tokens of each text, if the model accepts this many.

        Args:
            length: tokens of a text, from its name in messages and the remedy if it is too long.
        """
        lengths = []
        for number, text in enumerate(texts):
            with as_invalid_request(name := field.format(number)):
                lengths.append(length(text, name, remedy))
        return lengths

    def _pair_length(self, pair: schema.Pair, field: str) -> int:
        """Tokens of the longer side."""
        longest = 0
        for side in ("source", "target"):
            name, text = f"{field}.{side}", getattr(pair, side)
            check_characters(self.limits, text, name)
            length = len(getattr(self.trained.task, side).encode_batch([text])[0])
            with as_invalid_request(name):
                check_length(length, self.trained.max_length, name, SHORTEN)
            longest = max(longest, length)
        return longest

    def _search(self, verb: Verb, request: schema.SearchRequest) -> SearchConfig:
        """The settings of the run with those of the request."""
        settings = {
            name: value for name, value in request if name in SETTINGS and value is not None
        }
        for name, value in settings.items():
            limit = self._limit(verb, SETTINGS[name])
            if limit is not None and value > limit:
                raise InvalidRequest(f"{name} is {value} and may be at most {limit} here", name)
        with as_invalid_request(None):
            return self._settings(verb, **settings)

    def _limit(self, verb: Verb, setting: Setting) -> int | None:
        """The largest value of a setting that a request may have."""
        usual = self.config.search
        if setting.cost == "tokens":
            return usual.max_length
        is_sampled = verb == "generate" or usual.method == "sample"
        if setting.cost is None or (setting.name == "n_best" and not is_sampled):
            return None  # a beam bounds the number of its outputs itself
        return max(self.limits.beam, getattr(usual, setting.name))

    def _complete(self, verb: Verb, **settings: Any) -> SearchConfig:
        search: SearchConfig = getattr(self.trained, COMPLETES[verb])(**settings)
        return search

    def _library(self, search: SearchConfig) -> str:
        """The requested library, if it supports such a search."""
        try:
            if self.library != OWN:
                engine_module(self.library).require_supported(search)
        except ConfigError:
            return OWN
        return self.library


def verbs_of(trained: TrainedModel) -> tuple[Verb, ...]:
    """The verbs of a run, in the order of `Verb`."""
    fitting = trained.verbs_for(trained.config)
    every: tuple[Verb, ...] = get_args(Verb)
    return tuple(verb for verb in every if verb in fitting)


def _width(search: SearchConfig) -> int:
    return search.n_best if search.method == "sample" else search.beam

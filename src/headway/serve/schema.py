"""Requests and responses of the HTTP API as types; the OpenAPI description is made of them.

Results are the dataclasses of `inference` and `inspection`. A class whose name ends in `Response`
is here because its JSON differs from the dataclass; each says how. Limits are checked in
`validate`, which knows the run.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, is_dataclass
from inspect import cleandoc
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from ..config import summaries
from ..inference.forecaster import SeriesForecast
from ..inference.load import trained_classes
from ..inference.masked_lm import FillResult
from ..inference.predictor import Predictor
from ..inference.results import ScoredText
from ..inspection.hypothesis import LogProb, TextHypothesis
from ..search import SETTINGS, SearchConfig
from ..tasks import TASKS

TOP = 100
"""The most candidates for a mask."""


class _Request(BaseModel):
    # Strict: "5" is not a number and 1 is not a boolean, so that mistakes are reported.
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


Texts = Annotated[list[str], Field(min_length=1, description="Texts, each answered on its own.")]
Model = Annotated[
    str | None,
    Field(description="The model, by its name in /models; optional if only one is served."),
]


Terms = list[str | list[str]]
REQUIRED = "Words or phrases that must appear; of an inner list, at least one must."
FORBIDDEN = "Words or phrases that must not appear."
PREFIX = "The start of the output. Its last word may be continued unless a space follows it."


class Text(_Request):
    """A text with constraints on its translation."""

    source: str = Field(description="The text to translate.")
    require: Terms = Field(default=[], description=REQUIRED)
    forbid: list[str] = Field(default=[], description=FORBIDDEN)
    prefix: str = Field(default="", description=PREFIX)


class GlossaryEntry(_Request):
    """A source term, and the target terms that are required or forbidden where it occurs."""

    source: str = Field(description="The term in the source language.")
    require: list[str] = Field(default=[], description="Alternatives; one must appear.")
    forbid: list[str] = Field(default=[], description="Terms that must not appear.")


class SearchRequest(_Request):
    """A request that may change how to search. Settings left out are those of the run."""


Request = TypeVar("Request", bound=SearchRequest)


def with_search_settings(name: str) -> Callable[[type[Request]], type[Request]]:
    """Adds to a request the search settings that are declared for it, each of which may be None."""
    about = summaries(SearchConfig)
    fields: dict[str, Any] = {}
    for setting in SETTINGS.values():
        if name in setting.requests:
            bounds = setting.request_bounds
            bounded = Annotated[setting.type, *bounds] if bounds else setting.type
            described = Field(default=None, description=about[setting.name])
            fields[setting.name] = (bounded | None, described)

    def add(cls: type[Request]) -> type[Request]:
        return create_model(
            cls.__name__, __base__=cls, __doc__=cls.__doc__, __module__=cls.__module__, **fields
        )

    return add


@with_search_settings("translate")
class TranslateRequest(SearchRequest):
    """Texts to translate, and how to search."""

    texts: list[str | Text] = Field(min_length=1, description="Texts, or texts with constraints.")
    model: Model = None
    glossary: list[GlossaryEntry] = Field(default=[], description="Terms for all texts.")
    align: bool = Field(
        default=False, description="Return the source token that each output token attends to most."
    )
    trace: bool = Field(default=False, description="Return every step of the search.")
    attention: Literal["mean", "all"] | None = Field(
        default=None,
        description="Return attention weights of each output: the mean over layers and heads from "
        "output to input, or all of them by layer and head.",
    )


class Pair(_Request):
    """A source text and the target text to score."""

    source: str
    target: str


class ScoreRequest(_Request):
    """Pairs to score with a translation model, or texts to score with a language model."""

    pairs: list[Pair] | None = Field(default=None, min_length=1)
    texts: list[str] | None = Field(default=None, min_length=1)
    model: Model = None


class Input(_Request):
    """The input of a model that reads two texts; /models names its fields as `inputs`."""

    text: str | None = Field(default=None, description="The first text of a pair.")
    text2: str | None = Field(default=None, description="The second text of a pair.")
    question: str | None = Field(default=None, description="A question about the context.")
    context: str | None = Field(default=None, description="The text that may hold the answer.")


Covariates = dict[str, list[float | str | None]]
Steps = list[float | list[float | None] | None]
STEPS = "with a number for each step, or a list of the numbers of all columns; null where missing."
WARNINGS = "What to know of the series, such as missing values; left out if there is nothing."
CSV = "In place of `series`: the text of a CSV file, with a header line."


class PredictRequest(_Request):
    """Texts, or series, to predict labels, tags, answers or values for."""

    texts: list[str | Input] | None = Field(
        default=None,
        min_length=1,
        description="Texts, or objects for a model that reads two texts.",
    )
    series: list[Steps] | None = Field(
        default=None, min_length=1, description=f"For a model of series: lists, each {STEPS}"
    )
    csv: str | None = Field(default=None, description=CSV)
    model: Model = None


@with_search_settings("generate")
class GenerateRequest(SearchRequest):
    """Prompts to continue. Tokens are sampled unless `beam` is set."""

    prompts: list[str] = Field(min_length=1, description="Prompts; they may be empty.")
    model: Model = None


class FillRequest(_Request):
    """Texts with a `[MASK]` for each missing word."""

    texts: Texts
    model: Model = None
    top: int = Field(default=5, ge=1, le=TOP, description="Candidates for each mask.")


class EmbedRequest(_Request):
    """Texts to embed. Settings left out are those of the run."""

    texts: Texts
    model: Model = None
    pooling: Literal["mean", "first"] | None = Field(
        default=None, description="The mean of all token states, or the state of the first token."
    )
    normalise: bool | None = Field(
        default=None, description="Whether vectors are scaled to length 1."
    )


class SeriesInput(_Request):
    """A series: a value for each of its times; null where it is missing.

    Lists of `known` values may be longer than the others, up to the end of the forecast. /models
    names the columns of a model as `series`.
    """

    name: str = Field(default="", description="The name of the series.")
    times: list[str | int] | None = Field(
        default=None,
        description="Dates such as 2024-01-31 or 2024-01-31 13:00, or whole numbers, one for each "
        "value of the longest list; without them steps are numbered from 0.",
    )
    frequency: str | None = Field(
        default=None,
        description="The step, such as h, D or MS, if the times are not exact; times are rounded "
        "down to it.",
    )
    values: list[float | None] | None = Field(
        default=None, description="The values, for a model that forecasts one column."
    )
    columns: dict[str, list[float | None]] | None = Field(
        default=None, description="In place of values: the values of each column."
    )
    past: Covariates = Field(default={}, description="Covariates that are known up to now.")
    known: Covariates = Field(default={}, description="Covariates that are known in the future.")
    static: dict[str, float | str | None] = Field(
        default={}, description="Facts of the series that do not change."
    )


class ForecastRequest(_Request):
    """Series to forecast."""

    series: list[SeriesInput] | None = Field(default=None, min_length=1)
    csv: str | None = Field(default=None, description=CSV)
    horizon: int | None = Field(
        default=None,
        ge=1,
        description="Steps to forecast; by default those that the run was trained for.",
    )
    model: Model = None


@with_search_settings("inspect")
class InspectRequest(SearchRequest):
    """One text or series to inspect.

    Constraints and search settings are for translation models. Returns as many outputs as the beam
    is wide unless `n_best` is set.
    """

    text: str | Input | None = Field(
        default=None, description="The text, or an object for a model that reads two texts."
    )
    model: Model = None
    series: SeriesInput | Steps | None = Field(
        default=None,
        description="The series to forecast; for a model that predicts labels or values a list "
        + STEPS,
    )
    csv: str | None = Field(default=None, description=CSV)
    name: str | None = Field(default=None, description="Which series of the CSV text; the first.")
    column: str | None = Field(default=None, description="Which column to look at; the first.")
    at: int | str | None = Field(
        default=None,
        description="First step of the forecast: a time, or a negative number of steps from the "
        "end; by default the step after the end.",
    )
    require: Terms = Field(default=[], description=REQUIRED)
    forbid: list[str] = Field(default=[], description=FORBIDDEN)
    prefix: str = Field(default="", description=PREFIX)
    output: int = Field(
        default=0, ge=0, description="The output to return attention for; 0 is the best."
    )


@dataclass(frozen=True)
class AttentionResponse:
    """Attention weights of a forced pass over an output.

    Holds what the request asked for, as rounded lists: `mean`, or `maps` and `crossing`.

    Attributes:
        source: tokens of the input, with its end token.
        target: tokens of the output, with its end token.
        mean: a row for each output token, a column for each input token.
        maps: by layer: heads, rows, columns.
        crossing: names of the maps from output to input, in the order of the layers.
    """

    source: list[str]
    target: list[str]
    mean: list[list[float]] | None = None
    maps: dict[str, list[list[list[float]]]] | None = None
    crossing: list[list[str]] | None = None


@dataclass(frozen=True)
class HypothesisResponse(TextHypothesis):
    """One output of a search, with its attention as lists. Fields at their default are left out.

    Attributes:
        attention: weights of a forced pass over the output, if requested.
    """

    attention: AttentionResponse | None = None  # type: ignore[assignment]  # JSON has no arrays


@dataclass(frozen=True)
class TranslationResponse:
    """A text and its outputs, best first, with the search trace as JSON.

    Attributes:
        source_tokens: the tokens that alignments index, if requested.
        trace: beam, alpha and steps, if requested; each step has lists parent, token, text,
            log_prob, token_log_prob, score and fate (kept, ended, pruned), one entry for each
            candidate.
    """

    source: str
    outputs: list[HypothesisResponse]
    source_tokens: list[str] | None = None
    trace: dict[str, Any] | None = None


@dataclass(frozen=True)
class GenerationResponse:
    """A prompt and its continuations, best first; `Generation` with `n_unknown` as `unknown`.

    Attributes:
        outputs: texts and scores of the continuations, without the prompt.
        unknown: tokens of the prompt that the tokenizer does not know.
    """

    prompt: str
    outputs: list[HypothesisResponse]
    unknown: int


class Translations(BaseModel):
    """The translations, in the order of the texts."""

    model: str
    engine: str = Field(description="The library that computed: headway or ctranslate2.")
    results: list[TranslationResponse]


class Scores(BaseModel):
    """The scores, in the order of the pairs or texts."""

    model: str
    results: list[ScoredText]


def predictions() -> type[BaseModel]:
    """The response of /predict: one of the types that the classes of `TASKS` name."""
    classes = trained_classes().values()
    responses = dict.fromkeys(c.response for c in classes if issubclass(c, Predictor))
    return create_model(
        "Predictions",
        __doc__="The predictions, in the order of the texts; their type follows from the model's "
        "task.",
        model=str,
        warnings=(list[str], Field(default=[], description=WARNINGS)),
        results=list[Union[*responses]],  # type: ignore[valid-type]  # known when it runs
    )


class Generations(BaseModel):
    """The continuations, in the order of the prompts."""

    model: str
    results: list[GenerationResponse]


class Fillings(BaseModel):
    """The candidates for each mask, in the order of the texts."""

    model: str
    results: list[FillResult]


class SeriesForecasts(BaseModel):
    """The forecasts of each column of each series, in their order."""

    model: str
    warnings: list[str] = Field(default=[], description=WARNINGS)
    results: list[SeriesForecast]


class EmbeddingResponse(BaseModel):
    """The vector of a text; in Python it is a row of an array."""

    vector: list[float]


class Embeddings(BaseModel):
    """The vectors, in the order of the texts."""

    model: str
    results: list[EmbeddingResponse]


class InspectedOutputResponse(BaseModel):
    """One output with its attention: `InspectedOutput`, flat, with tensors in base64."""

    text: str
    tokens: list[str] = Field(description="With the end token, if the output reached it.")
    log_prob: LogProb
    score: LogProb
    token_log_probs: list[LogProb]
    finished: bool
    unmet: list[str]
    proven: bool | None
    top: list[list[tuple[str, float]]] = Field(
        description="For each token the likeliest alternatives, with their probabilities."
    )
    inputs: dict[str, Any] | None = Field(
        description="Tensors embedding and position (or null), one row for each token."
    )
    attention: list[dict[str, Any]] | None = Field(
        description="Attention of the requested output; null in the others."
    )
    words: list[str] | None = Field(description="The words that the tags of a tagger belong to.")
    span: tuple[int, int] | None = Field(
        description="Start and end of an answer in the context, in characters from 0."
    )
    value: float | None = Field(
        description="The value a regressor predicts; it has no probability."
    )


class InspectionResponse(BaseModel):
    """A text, the outputs of a model, its search and its attention: `Inspection` within a limit.

    A tensor is `{"shape", "dtype", "data"}`, numbers in base64, little endian. An attention has a
    `name`, a `kind` (encoder, decoder, cross), a `layer`, `heads`, and the tensors its weights are
    computed from: `query`, `key` and `scale` where `form` is dot, else `weights`.
    """

    format: int
    precision: Literal["full", "half"]
    limit: int = Field(description="The size this object was made to fit, in bytes.")
    left_out: list[str] = Field(description="What was left out to fit, as text.")
    kind: str = Field(description="The task of the run.")
    begin: str = Field(description="The token before the first output token.")
    run: dict[str, Any]
    source: dict[str, Any] | None = Field(description="text and tokens.")
    search: dict[str, Any] | None = Field(description="Settings of the search.")
    outputs: list[InspectedOutputResponse]
    encoder: list[dict[str, Any]] = Field(description="Attention within the text.")
    memory: dict[str, dict[str, Any]] = Field(
        description="Tensors that the attentions of all outputs share, by name."
    )
    inputs: dict[str, Any] | None
    trace: dict[str, Any] | None = Field(description="Every step of the search.")
    positions: dict[str, Any] | None = Field(description="How the model encodes positions.")
    forecast: dict[str, Any] | None = Field(
        default=None, description="For a forecast: its window, intervals and patches."
    )
    series: dict[str, Any] | None = Field(
        default=None, description="For a series with a label or value: its values and patches."
    )
    warnings: list[str] = Field(default=[], description=WARNINGS)
    training: None = Field(description="Always null; the training log is at /training.")


class Training(BaseModel):
    """The current training log of a run: losses, validations and samples."""

    model: str
    rows: list[dict[str, Any]]


class ModelInfo(BaseModel):
    """A served run."""

    name: str
    task: str = Field(description=f"{', '.join(TASKS)}, or one of your own.")
    family: str
    parameters: int | None = Field(
        description="Number of weights; null for a run without weights yet."
    )
    max_length: int = Field(description="The longest input in tokens, with its end token.")
    verbs: list[str] = Field(
        description="Paths that accept this model: translate, score, predict, generate, fill, "
        "embed, forecast, inspect; empty for a run without weights yet."
    )
    engine: str
    attends: bool = Field(description="Whether the model has attention to inspect.")
    search: dict[str, Any] | None = Field(
        description="Search settings that apply where a request sets none."
    )
    inputs: list[str] | None = Field(
        description="The input of predictions: one text, or the fields of an object."
    )
    example: list[str] | None = Field(
        description="An input for a first look, one text for each of its inputs: a validation "
        "sample of the run, or words of its vocabulary; for a model of series a CSV file."
    )
    labels: list[str] | None = Field(default=None, description="Labels of a classifier.")
    tags: list[str] | None = Field(default=None, description="Tags of a tagger.")
    scheme: str | None = Field(default=None, description="Tagging scheme, such as BIO, or plain.")
    answers_may_lack: bool | None = Field(
        default=None, description="Whether questions may have no answer."
    )
    value: dict[str, float] | None = Field(
        default=None, description="Mean and deviation of the training values of a regressor."
    )
    series: dict[str, Any] | None = Field(
        default=None,
        description="Of a model of series: its columns; of forecasts also covariates, history, "
        "horizon and frequency, of others the numbers of steps in training.",
    )


class Models(BaseModel):
    """The served models, and the limits of a request."""

    models: list[ModelInfo]
    limits: dict[str, float]


class Health(BaseModel):
    """Whether the server accepts requests."""

    status: Literal["ready", "draining"]


class Problem(BaseModel):
    """An error."""

    code: str = Field(description="A code for programs, such as invalid or busy.")
    message: str = Field(description="One sentence for people.")
    field: str | None = Field(description="The part of the request it concerns, such as texts[3].")


class ProblemBody(BaseModel):
    """The body of every error response."""

    error: Problem


def dataclasses_in(annotation: Any) -> set[type[Any]]:
    """All dataclasses that occur in a type."""
    is_result = is_dataclass(annotation)
    is_model = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    fields = get_type_hints(annotation).values() if is_result or is_model else get_args(annotation)
    return set().union({annotation} if is_result else set(), *map(dataclasses_in, fields))


def add_descriptions(components: dict[str, Any], responses: Iterable[Any]) -> None:
    """Describes the dataclasses among the schemas of an OpenAPI description.

    pydantic does not read `Attributes:` sections, and would show them as part of the text.
    """
    for result in set().union(*map(dataclasses_in, responses)):
        component = components[result.__name__]
        text, _, _ = cleandoc(result.__doc__ or "").partition("Attributes:")
        component["description"] = text.strip()
        for name, text in attribute_descriptions(result).items():
            component["properties"][name]["description"] = text


def attribute_descriptions(dataclass_type: type[Any]) -> dict[str, str]:
    """The `Attributes:` sections of a dataclass and those it inherits from, by field."""
    descriptions: dict[str, str] = {}
    for base in reversed(dataclass_type.__mro__):
        if is_dataclass(base):
            section = cleandoc(base.__doc__ or "").partition("Attributes:\n")[2]
            for name, text in re.findall(r"(?m)^    (\w+): (.*(?:\n {8}.*)*)", section):
                sentence = " ".join(text.split())
                descriptions[name] = sentence[:1].upper() + sentence[1:].rstrip(".") + "."
    return descriptions

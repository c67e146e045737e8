"""What is asked and answered over HTTP, as types: the OpenAPI description is made of them.

How much may be asked is left to `desk`, which knows the limits and the run.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

ALPHA = 10.0
"""Beyond this, length normalisation leaves the range of floating-point numbers."""
TOP = 100
"""Words for a gap, at most."""


class _Asked(BaseModel):
    # Strict: "5" is no number and 1 is no truth value, so that mistakes are told and not guessed.
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


Texts = Annotated[list[str], Field(min_length=1, description="Texts, each answered on its own.")]
Model = Annotated[
    str | None,
    Field(description="Which model, by its name in /models; may be left out if there is one."),
]


Terms = list[str | list[str]]
REQUIRED = "Words or phrases that must appear; a list in place of one: any of them."
FORBIDDEN = "Words or phrases that may not appear."
BEGINNING = "How the output begins; its last word may go on, unless a space ends it."


class Text(_Asked):
    """A text with wishes about its translation."""

    source: str = Field(description="The text to translate.")
    require: Terms = Field(default=[], description=REQUIRED)
    forbid: list[str] = Field(default=[], description=FORBIDDEN)
    prefix: str = Field(default="", description=BEGINNING)


class Entry(_Asked):
    """A term of a glossary: what the output must and must not say where it occurs in a text."""

    source: str = Field(description="The term in the source language.")
    require: list[str] = Field(default=[], description="Alternatives, one of which must appear.")
    forbid: list[str] = Field(default=[], description="Terms that may not appear.")


class Searching(_Asked):
    """How to search. Settings left out are those of the run."""

    beam: int | None = Field(default=None, ge=1, description="Hypotheses kept alive; 1 is greedy.")
    alpha: float | None = Field(
        default=None, ge=-ALPHA, le=ALPHA, description="Rank by log p / length ** alpha."
    )
    n_best: int | None = Field(default=None, ge=1, description="Outputs for each text.")
    max_length: int | None = Field(default=None, ge=1, description="The longest output, in tokens.")


class TranslateRequest(Searching):
    """Texts to translate, and how to search."""

    texts: list[str | Text] = Field(min_length=1, description="Texts, or texts with wishes.")
    model: Model = None
    glossary: list[Entry] = Field(default=[], description="Terms that hold for all texts.")
    align: bool = Field(default=False, description="Tell which source token each token looks at.")
    trace: bool = Field(default=False, description="Tell every step of the search.")
    attention: Literal["mean", "all"] | None = Field(
        default=None,
        description="Attention weights of each output: from output to input, the mean of layers "
        "and heads; or all of them by layer and head.",
    )


class Pair(_Asked):
    """A text and a given output."""

    source: str
    target: str


class ScoreRequest(_Asked):
    """What to score: pairs for a model that translates, texts for a language model."""

    pairs: list[Pair] | None = Field(default=None, min_length=1)
    texts: list[str] | None = Field(default=None, min_length=1)
    model: Model = None


class Input(_Asked):
    """The texts of a model that reads two at once: those that /models names as its inputs."""

    text: str | None = Field(default=None, description="The first text of a pair.")
    text2: str | None = Field(default=None, description="The second text of a pair.")
    question: str | None = Field(default=None, description="What is asked about the context.")
    context: str | None = Field(default=None, description="The text that holds the answer.")


class PredictRequest(_Asked):
    """Texts of which something is to be told: labels, tags, answers, values."""

    texts: list[str | Input] = Field(
        min_length=1, description="Texts; an object where the model reads two at once."
    )
    model: Model = None


class GenerateRequest(Searching):
    """Beginnings of texts, and how to go on with them.

    Tokens are drawn by chance, unless there is a beam.
    """

    prompts: list[str] = Field(min_length=1, description="How the texts begin; may be empty.")
    model: Model = None
    min_length: int | None = Field(
        default=None, ge=0, description="The shortest output, in tokens."
    )
    no_repeat: int | None = Field(
        default=None, ge=0, description="No so many tokens come twice in the same order; 0 is off."
    )
    temperature: float | None = Field(
        default=None, gt=0, description="Below 1 likely tokens become likelier."
    )
    top_k: int | None = Field(
        default=None, ge=0, description="Draw among so many of the likeliest tokens; 0 is off."
    )
    top_p: float | None = Field(
        default=None, gt=0, le=1, description="Draw among the likeliest, up to this share."
    )
    seed: int | None = Field(default=None, ge=0, description="Another one draws another text.")


class FillRequest(_Asked):
    """Texts with gaps."""

    texts: Texts
    model: Model = None
    top: int = Field(default=5, ge=1, le=TOP, description="Words for each gap.")


class EmbedRequest(_Asked):
    """Texts of which vectors are wanted. Settings left out are as the run has them."""

    texts: Texts
    model: Model = None
    pooling: Literal["mean", "first"] | None = Field(
        default=None, description="The mean of the states of all tokens, or that of the first."
    )
    normalise: bool | None = Field(default=None, description="Whether vectors get length 1.")


class InspectRequest(Searching):
    """One text to look at; wishes and settings are for models that translate.

    As many outputs as the beam is wide are told unless `n_best` is given.
    """

    text: str | Input = Field(description="The text; an object if the model reads two at once.")
    model: Model = None
    require: Terms = Field(default=[], description=REQUIRED)
    forbid: list[str] = Field(default=[], description=FORBIDDEN)
    prefix: str = Field(default="", description=BEGINNING)
    output: int = Field(default=0, ge=0, description="Whose attention is wanted; 0 is the best.")


LogProb = Annotated[
    float | None, Field(description="A natural logarithm; null for that of probability 0.")
]


class Attention(BaseModel):
    """Weights of a forced pass over an output."""

    source: list[str] = Field(description="Tokens of the input, its end included.")
    target: list[str] = Field(description="Tokens of the output, its end included.")
    mean: list[list[float]] | None = Field(
        default=None, description="One row for each output token, one column for each input token."
    )
    maps: dict[str, list[list[list[float]]]] | None = Field(
        default=None, description="By layer: heads, rows, columns."
    )
    crossing: list[list[str]] | None = Field(
        default=None, description="Which maps lead from output to input, in the order of layers."
    )


class Output(BaseModel):
    """One output of a search."""

    text: str
    log_prob: LogProb
    score: LogProb
    tokens: list[str]
    token_log_probs: list[LogProb] = Field(
        description="Of each token and of the end, if it came; empty where the engine tells none."
    )
    finished: bool = Field(description="False if the length limit cut it off.")
    alignment: list[int] | None = Field(
        default=None, description="For each token the place of the source token it looks at most."
    )
    unmet: list[str] | None = Field(default=None, description="Required terms that are missing.")
    proven: bool | None = Field(
        default=None, description="Of an exhaustive search: that nothing scores above it."
    )
    attention: Attention | None = None


class Translation(BaseModel):
    """A text and its outputs, best first."""

    source: str
    outputs: list[Output]
    source_tokens: list[str] | None = Field(default=None, description="What alignments count.")
    trace: dict[str, Any] | None = Field(
        default=None,
        description="beam, alpha and steps; each step has lists parent, token, text, log_prob, "
        "token_log_prob, score and fate (kept, ended, pruned), one entry for each candidate.",
    )


class Translations(BaseModel):
    """The translations, in the order of the texts."""

    model: str
    engine: str = Field(description="What computed: headway or ctranslate2.")
    results: list[Translation]


class Scored(BaseModel):
    """What the model thinks of a given output or text."""

    log_prob: LogProb
    tokens: list[str]
    token_log_probs: list[LogProb]


class Scores(BaseModel):
    """Scores in the order of what was asked."""

    model: str
    results: list[Scored]


class Prediction(BaseModel):
    """The label of a text."""

    label: str
    probability: float
    probabilities: dict[str, float] = Field(description="Of every label, the likeliest first.")


class Entity(BaseModel):
    """Words from `start` up to `end`, counted from 0, which are one thing."""

    type: str
    text: str
    start: int
    end: int
    probability: float = Field(description="The smallest of its words.")


class Tagged(BaseModel):
    """The tags of a text."""

    words: list[str]
    tags: list[str] = Field(description="Of each word, in the scheme of the training data.")
    probabilities: list[float] = Field(description="Of each of these tags.")
    entities: list[Entity] = Field(description="What the tags tell of; none of plain tags.")


class Candidate(BaseModel):
    """A part of the context, from character `start` up to `end`, counted from 0."""

    text: str
    start: int
    end: int
    probability: float


class Answer(BaseModel):
    """What a question is answered."""

    text: str = Field(description="Empty if there is no answer.")
    start: int | None = Field(description="Its first character in the context; null if none.")
    end: int | None = Field(description="The character after its last.")
    probability: float = Field(description="Of the answer, or that there is none.")
    none: float = Field(description="The probability that there is none.")
    candidates: list[Candidate] = Field(description="Likeliest parts of the context, best first.")


class Answered(BaseModel):
    """The answer to a question."""

    answer: Answer


class Valued(BaseModel):
    """The value of a text."""

    value: float


class Predictions(BaseModel):
    """What is told of each text, in their order; of which kind, the task of the model says."""

    model: str
    results: list[Prediction | Tagged | Answered | Valued]


class Generation(BaseModel):
    """A prompt and what follows it, best first."""

    prompt: str
    outputs: list[Output] = Field(description="Without the prompt; so are their scores.")
    unknown: int = Field(description="Tokens of the prompt that the model cannot tell apart.")


class Generations(BaseModel):
    """What follows, in the order of the prompts."""

    model: str
    results: list[Generation]


class Filler(BaseModel):
    """A token that may stand in a gap."""

    token: str
    text: str = Field(description="What it writes, without the space before it.")
    probability: float


class Filled(BaseModel):
    """A text, and for each of its gaps the likeliest tokens, the best first."""

    text: str
    gaps: list[list[Filler]]


class Fillings(BaseModel):
    """What fits, in the order of the texts."""

    model: str
    results: list[Filled]


class Embedded(BaseModel):
    """What a text is to the model."""

    vector: list[float]


class Embeddings(BaseModel):
    """Vectors in the order of the texts."""

    model: str
    results: list[Embedded]


class InspectedOutput(BaseModel):
    """One output, with what the model did to write it."""

    text: str
    tokens: list[str] = Field(description="The end included, if it came.")
    log_prob: LogProb
    score: LogProb
    token_log_probs: list[LogProb]
    finished: bool
    unmet: list[str]
    proven: bool | None
    top: list[list[tuple[str, float]]] = Field(
        description="For each token the likeliest words in its place, with their probabilities."
    )
    inputs: dict[str, Any] | None = Field(
        description="Tensors embedding and position (or null), one row for each token."
    )
    attention: list[dict[str, Any]] | None = Field(
        description="Of the output that was asked for; null in the others."
    )
    words: list[str] | None = Field(description="Of tags: the words that they belong to.")
    span: tuple[int, int] | None = Field(
        description="Of an answer: its first character in the context, and the one after its last."
    )
    value: float | None = Field(description="Of a value: this; then it has no probability.")


class Inspection(BaseModel):
    """A text, what a model made of it, and how.

    A tensor is `{"shape", "dtype", "data"}`, numbers in base64, little endian. An attention has a
    `name`, a `kind` (encoder, decoder, cross), a `layer`, `heads`, and what its weights follow
    from: `query`, `key` and `scale` where `form` is dot, else `weights`.
    """

    format: int
    precision: Literal["full", "half"]
    limit: int = Field(description="Bytes that this object was made for.")
    left_out: list[str] = Field(description="What did not fit, in words.")
    kind: str = Field(description="The task of the run.")
    begin: str = Field(description="The mark before the first output token.")
    run: dict[str, Any]
    source: dict[str, Any] | None = Field(description="text and tokens.")
    search: dict[str, Any] | None = Field(description="Settings of the search.")
    outputs: list[InspectedOutput]
    encoder: list[dict[str, Any]] = Field(description="Attention within the text.")
    memory: dict[str, dict[str, Any]] = Field(
        description="Tensors that the attentions of all outputs share, by name."
    )
    inputs: dict[str, Any] | None
    trace: dict[str, Any] | None = Field(description="Every step of the search.")
    positions: dict[str, Any] | None = Field(description="How order is told.")
    training: None = Field(description="Is at /training.")


class Training(BaseModel):
    """The log of a run as it is now: figures, validations and samples."""

    model: str
    rows: list[dict[str, Any]]


class ModelInfo(BaseModel):
    """A run that is served."""

    name: str
    task: str = Field(
        description="translate, language, classify, tag, answer, regress or pretrain."
    )
    family: str
    parameters: int | None = Field(description="null for a run that has no weights yet.")
    max_length: int = Field(description="Tokens of the longest input, its end counted.")
    verbs: list[str] = Field(
        description="What may be asked: translate, score, predict, generate, fill, embed, inspect; "
        "nothing of a run that has no weights yet."
    )
    engine: str
    attends: bool = Field(description="Whether there is attention to look at.")
    search: dict[str, Any] | None = Field(
        description="Settings of the search that hold where a request gives none."
    )
    inputs: list[str] | None = Field(
        description="What is predicted from: one text, or the fields of an object."
    )
    labels: list[str] | None = Field(default=None, description="Of a classifier.")
    tags: list[str] | None = Field(default=None, description="Of a tagger.")
    scheme: str | None = Field(default=None, description="How tags tell entities, or plain.")
    answers_may_lack: bool | None = Field(
        default=None, description="Whether questions may have no answer."
    )
    value: dict[str, float] | None = Field(
        default=None, description="mean and deviation of the values of the training data."
    )


class Models(BaseModel):
    """What is served, and how much may be asked at once."""

    models: list[ModelInfo]
    limits: dict[str, float]


class Health(BaseModel):
    """Whether requests are taken."""

    status: Literal["ready", "draining"]


class Problem(BaseModel):
    """What went wrong."""

    code: str = Field(description="A word for programs, such as invalid or busy.")
    message: str = Field(description="One sentence for people.")
    field: str | None = Field(description="Which part of the request, such as texts[3].")


class ProblemBody(BaseModel):
    """The shape of every answer that is an error."""

    error: Problem

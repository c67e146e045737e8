"""A loaded run that answers batches of requests with finished JSON. No HTTP, no queue.

Results become JSON here, in the process that computes them; the server passes the bytes on.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from pydantic import TypeAdapter

from ..errors import DataError
from ..inference.base import TrainedModel
from ..inference.embedder import Embedder, Pooling
from ..inference.engines import OWN
from ..inference.forecaster import SeriesForecast
from ..inference.masked_lm import FillResult, MaskFiller
from ..inference.requests import TranslationRequest
from ..inference.results import ScoredText, Translation
from ..inference.series_files import SeriesRow
from ..inspection.attention import Attention
from ..inspection.hypothesis import TextHypothesis, trace_to_dict
from ..inspection.inspection import Inspection
from ..search import SearchConfig
from .schema import AttentionResponse, GenerationResponse, HypothesisResponse, TranslationResponse

Verb = Literal["translate", "score", "predict", "generate", "fill", "embed", "forecast", "inspect"]
Depth = Literal["mean", "all"]
LABELLED = "series"
"""The column of series that have a label or a value."""
DIGITS = 5  # of attention weights
PLAIN: TypeAdapter[Any] = TypeAdapter(dict[str, Any])
RESPONSES: Mapping[Verb, TypeAdapter[Any]] = {
    "translate": TypeAdapter(TranslationResponse),
    "score": TypeAdapter(ScoredText),
    "predict": PLAIN,
    "generate": TypeAdapter(GenerationResponse),
    "fill": TypeAdapter(FillResult),
    "embed": PLAIN,
    "forecast": TypeAdapter(list[SeriesForecast]),
    "inspect": PLAIN,
}
"""Serialisers by verb. Infinities become null."""


@dataclass(frozen=True)
class BatchKey:
    """Everything a request sets but its texts; texts with equal keys may share a batch.

    Attributes:
        search: complete search settings.
        library: the library that computes.
        attention: which attention weights to return.
        cells: the most attention weights to return.
        output: of an inspection, the output to return attention for.
        size: of an inspection, the most bytes.
        top: candidates for each mask.
        pooling: how token states become a vector; None is the run's own way.
        normalise: whether vectors are scaled to length 1; None is the run's own way.
        horizon: steps of a forecast.
        column, at: what to inspect of a series.
    """

    model: str
    verb: Verb
    search: SearchConfig | None = None
    library: str = OWN
    align: bool = False
    trace: bool = False
    attention: Depth | None = None
    cells: int = 0
    output: int = 0
    size: int = 0
    top: int = 0
    pooling: Pooling | None = None
    normalise: bool | None = None
    horizon: int | None = None
    column: str | None = None
    at: int | str | None = None


@dataclass(frozen=True, eq=False)
class SeriesItem:
    """One series to forecast, to predict for or to inspect.

    Attributes:
        field: its name in messages.
        names: of all series that were sent.
    """

    field: str
    row: SeriesRow
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class TranslationItem:
    """One text to translate or to inspect.

    Attributes:
        field: its name in messages, such as `texts[3]`.
    """

    field: str
    request: TranslationRequest


class Engine:
    """Answers batches with one run.

    Args:
        compute_type: of CTranslate2, where a `BatchKey` asks for that library.
    """

    def __init__(self, trained: TrainedModel, compute_type: Any = "default") -> None:
        self.trained: Any = trained
        self.compute_type = compute_type

    def answer(self, key: BatchKey, items: Sequence[Any]) -> list[bytes]:
        """A JSON object for each item; of a series one for each column, separated by commas.

        Args:
            items: `TranslationItem` to translate, or to inspect with a translation model;
                `SeriesItem` for a model of series; pairs of texts to score; numbers and prompts to
                generate; else texts, or inputs of the run's predictions.

        Raises:
            HeadwayError: an item cannot be answered.
        """
        verbs: Mapping[Verb, Callable[[BatchKey, Sequence[Any]], Iterable[Any]]] = {
            "translate": self._translate,
            "score": self._score,
            "predict": self._predict,
            "generate": self._generate,
            "fill": self._fill,
            "embed": self._embed,
            "forecast": self._forecast,
            "inspect": self._inspect,
        }
        dump_json = RESPONSES[key.verb].dump_json
        # The optional fields of responses are those with a default.
        dumped = [
            dump_json(result, exclude_defaults=True) for result in verbs[key.verb](key, items)
        ]
        return [answer[1:-1] for answer in dumped] if key.verb == "forecast" else dumped

    def _translate(
        self, key: BatchKey, items: Sequence[TranslationItem]
    ) -> list[TranslationResponse]:
        if key.search is not None and key.search.method == "sample":
            # Samples depend on a text's number: each is number 0, whatever else is in the batch.
            translations = [t for item in items for t in self._translations(key, [item])]
        else:
            translations = self._translations(key, items)
        return [self._response(key, translation) for translation in translations]

    def _score(self, key: BatchKey, items: Sequence[Any]) -> list[ScoredText]:
        is_paired = self.trained.scored_inputs == "pairs"
        columns = zip(*items, strict=True) if is_paired else [items]
        scored: list[ScoredText] = self.trained.score(*columns)
        return scored

    def _predict(self, key: BatchKey, items: Sequence[Any]) -> list[dict[str, Any]]:
        inputs = [item.row[LABELLED] if isinstance(item, SeriesItem) else item for item in items]
        return [self.trained.to_dict(prediction) for prediction in self.trained.predict(inputs)]

    def _generate(
        self, key: BatchKey, items: Sequence[tuple[int, str]]
    ) -> list[GenerationResponse]:
        numbers, prompts = zip(*items, strict=True)
        fields = [f"prompts[{number}]" for number in numbers]
        generations = self.trained.writer(key.search).write(prompts, fields, numbers)
        return [
            GenerationResponse(each.prompt, _hypotheses(key, each.outputs), each.n_unknown)
            for each in generations
        ]

    def _fill(self, key: BatchKey, items: Sequence[str]) -> list[FillResult]:
        return MaskFiller(self.trained).fill(items, key.top)

    def _embed(self, key: BatchKey, items: Sequence[str]) -> list[dict[str, Any]]:
        embedder = Embedder(self.trained, key.pooling, key.normalise)
        return [{"vector": vector} for vector in embedder.embed(items).tolist()]

    def _forecast(self, key: BatchKey, items: Sequence[SeriesItem]) -> list[list[SeriesForecast]]:
        rows, fields = [item.row for item in items], [item.field for item in items]
        forecasts = self.trained.forecast(rows, key.horizon, fields)
        n = len(forecasts) // len(items)  # columns
        return [forecasts[i * n : (i + 1) * n] for i in range(len(items))]

    def _inspect(self, key: BatchKey, items: Sequence[Any]) -> list[dict[str, Any]]:
        return [self._inspection(key, item) for item in items]

    def _translations(self, key: BatchKey, items: Sequence[TranslationItem]) -> list[Translation]:
        is_foreign = key.library != OWN
        translations: list[Translation] = self.trained.translate(
            [item.request for item in items],
            places=[item.field for item in items],
            align=key.align,
            attend=key.attention is not None,
            trace=key.trace,
            engine=key.library,
            compute_type=self.compute_type if is_foreign else "default",
            **(asdict(key.search) if key.search is not None else {}),
        )
        return translations

    def _response(self, key: BatchKey, translation: Translation) -> TranslationResponse:
        trace = None
        if translation.trace is not None:
            trace = trace_to_dict(translation.trace, self.trained.task.target.tokenizer)
        outputs = _hypotheses(key, translation.outputs)
        return TranslationResponse(translation.source, outputs, translation.source_tokens, trace)

    def _inspection(self, key: BatchKey, item: Any) -> dict[str, Any]:
        """The data of the page, with the attention of one output and without the training log."""
        if self.trained.has_search:
            inspection = self._search(key, item)
        elif self.trained.forecasts_windows:
            inspection = self.trained.inspect(item.row, key.column, key.at, item.names)
        elif isinstance(item, SeriesItem):
            inspection = self.trained.inspect(item.row[LABELLED])
            if inspection.series is not None:
                series = replace(inspection.series, names=item.names)
                inspection = replace(inspection, series=series)
        else:
            inspection = self.trained.inspect(item)
        background = inspection.background
        run = {**background.run, "name": key.model}
        background = replace(background, run=run, rows=[])
        tree: dict[str, Any] = replace(inspection, background=background).to_dict(key.size)
        return tree

    def _search(self, key: BatchKey, item: TranslationItem) -> Inspection:
        assert key.search is not None
        search = asdict(key.search)
        inspection: Inspection = self.trained.inspect(item.request, outputs=[key.output], **search)
        n_outputs = len(inspection.outputs)
        if key.output >= n_outputs:
            raise DataError(
                f"output is {key.output}, and the search found {n_outputs}, counted from 0"
            )
        return inspection


def _hypotheses(key: BatchKey, outputs: Iterable[TextHypothesis]) -> list[HypothesisResponse]:
    return [
        HypothesisResponse(**{**vars(output), "attention": _attention(key, output.attention)})
        for output in outputs
    ]


def _attention(key: BatchKey, attention: Attention | None) -> AttentionResponse | None:
    """The requested weights as lists.

    Raises:
        DataError: there are too many of them.
    """
    if attention is None:
        return None
    maps = attention.maps if key.attention == "all" else {"mean": attention.cross()}
    n_cells = sum(weights.size for weights in maps.values())
    if n_cells > key.cells:
        raise DataError(
            f"the output has {n_cells} attention weights and at most {key.cells} are sent; ask for "
            "the mean, or shorten the text"
        )
    lists = {
        name: np.round(weights.astype(np.float64), DIGITS).tolist()
        for name, weights in maps.items()
    }
    source, target = attention.source, attention.target
    if key.attention == "all":
        return AttentionResponse(source, target, maps=lists, crossing=attention.crossing)
    return AttentionResponse(source, target, **lists)

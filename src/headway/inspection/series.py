"""Series as plain data for pages: `SeriesInspection`, a window with its forecast and attention, and
`ReadSeries`, a whole series whose label or value was predicted.

`inference/series_inspection.py` computes them. The page, the size limit and the attention layers
are those of `Inspection`; patches of steps take the place of tokens.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from ..view.inspection import inspection_page
from .attention import AttentionTrace, rollout
from .html_page import Page
from .inspection import Plain, RunSummary
from .serialize import FORMAT, LIMIT, Packing, dumped, fitted

Span = tuple[int, int]
"""First and last step of a patch, counted from the first step of the history."""
CLASS_VECTOR = (-1, -1)
"""The span of a learned vector, which has no steps."""


@dataclass(frozen=True)
class Band:
    """A prediction interval: the share of values that it should cover, and its ends per step."""

    level: float
    low: list[float]
    high: list[float]


@dataclass(frozen=True)
class SeriesWindow:
    """One column of a series around the beginning of a forecast, in the units of the data.

    Attributes:
        times: of the history and of the horizon, as ISO text, or numbers of steps.
        history: None where a value is missing, or before the series begins.
        forecast: of each step of the horizon, as the lists below.
        bands: prediction intervals, the narrowest first.
        floors: forecasts of simple models by name, such as `seasonal`.
        truth: the true values where they are known; None if the window is not in the past.
        held: the forecast with one covariate held still, by the name of the covariate.
    """

    series: str
    column: str
    frequency: str
    times: list[str]
    history: list[float | None] = field(repr=False)
    forecast: list[float] = field(repr=False)
    bands: list[Band] = field(repr=False)
    floors: dict[str, list[float]] = field(repr=False)
    truth: list[float | None] | None = field(default=None, repr=False)
    held: dict[str, list[float]] = field(default_factory=dict, repr=False)

    @property
    def n_history(self) -> int:
        return len(self.history)


@dataclass(frozen=True)
class ReadSeries:
    """A series that a classifier or a regressor has read, in the units of the data.

    Attributes:
        columns: the columns of numbers.
        times: of the steps, as ISO text, or numbers from 1.
        values: by column; None where a value is missing.
        patches: the steps of each patch that an encoder reads; none without attention.
        pooled: the patch from whose state the output is computed; None if it is the mean of all.
        names: the series that the data have.
    """

    series: str
    columns: list[str]
    times: list[str]
    values: list[list[float | None]] = field(repr=False)
    patches: list[Span] = field(repr=False)
    pooled: int | None = None
    names: tuple[str, ...] = ()

    def to_dict(self, parts: Sequence[AttentionTrace]) -> Plain:
        """Plain data, with the rollout of the attention layers."""
        names = {"series": self.names, "columns": ()}
        return {**asdict(self), "names": names, "rollout": rollout(parts)}


@dataclass(frozen=True)
class SeriesInspection:
    """A forecast, and how the model computed it.

    Attributes:
        kind: the task of the run.
        names: the series and the columns that the data have.
        patches: the steps of each patch that an encoder reads.
        written: the steps of each patch that a decoder writes; none without a decoder.
        encoder: attention within the patches that are read.
        decoder: attention from the patches that are written.
    """

    kind: str
    window: SeriesWindow
    names: tuple[tuple[str, ...], tuple[str, ...]]
    background: RunSummary
    patches: list[Span] = field(default_factory=list)
    written: list[Span] = field(default_factory=list)
    encoder: list[AttentionTrace] = field(default_factory=list, repr=False)
    decoder: list[AttentionTrace] = field(default_factory=list, repr=False)

    def rollout(self) -> np.ndarray | None:
        """How much each patch draws on each other through all layers, as `attention.rollout`."""
        return rollout(self.encoder)

    def plain_window(self) -> Plain:
        """The window as plain data."""
        return asdict(self.window)

    def looks(self) -> list[tuple[Span, float]]:
        """How much the forecast draws on each patch of the input, adding up to 1.

        All states of an encoder are read alike, by a head or through a decoder's attention.
        """
        crossing = [part.weights.mean((0, 1)) for part in self.decoder if part.kind == "cross"]
        through = self.rollout()
        if through is None or not self.patches:
            return []
        read = np.mean(crossing, axis=0) if crossing else np.full(len(through), 1 / len(through))
        shares = (read @ through).tolist()
        return [
            (span, share)
            for span, share in zip(self.patches, shares, strict=True)
            if span != CLASS_VECTOR
        ]

    def to_dict(self, limit: int = LIMIT) -> Plain:
        """Plain data for pages and servers, of about `limit` bytes of JSON at most."""
        return fitted(self._packings(), lambda packing: self._tree(packing, limit), limit)

    def to_json(self, limit: int = LIMIT) -> str:
        """`to_dict` as one line."""
        return dumped(self.to_dict(limit))

    def view(self) -> Page:
        """The page of the inspection, which a notebook shows."""
        return Page(inspection_page(self.to_dict()))

    def _packings(self) -> Iterator[Packing]:
        """Queries and keys alone, in full or half precision, then without single layers."""
        whole = Packing(projections=False, steps=False)
        yield whole
        half = replace(whole, half=True)
        yield half
        without: tuple[str, ...] = ()
        for part in (*self.encoder, *self.decoder):
            without = (*without, part.name)
            yield replace(half, without=without)

    def _tree(self, packing: Packing, limit: int) -> Plain:
        """The packed parts in the form of `serialize`, still with arrays in place of tensors."""
        window, background = self.window, self.background
        name = " ".join(filter(None, [window.series, window.column]))
        return {
            "format": FORMAT,
            "precision": "half" if packing.half else "full",
            "limit": limit,
            "left_out": list(packing.without),
            "kind": self.kind,
            "begin": "end of the history",
            "run": background.run,
            "source": {"text": name, "tokens": self._labels(self.patches)},
            "search": None,
            "outputs": [self._output(packing)],
            "encoder": [packing.part(part) for part in self.encoder if packing.has(part)],
            "memory": {},
            "inputs": None,
            "trace": None,
            "positions": background.positions,
            "training": {"rows": background.rows} if background.rows else None,
            "forecast": self._forecast(packing),
        }

    def _output(self, packing: Packing) -> Plain:
        """What a decoder writes, as an output of words."""
        return {
            "text": self.window.column,
            "tokens": self._labels(self.written),
            "attention": [packing.part(part) for part in self.decoder if packing.has(part)],
        }

    def _labels(self, patches: Sequence[Span]) -> list[str]:
        """The time at which each patch begins."""
        times = self.window.times
        return ["class" if span == CLASS_VECTOR else times[span[0]] for span in patches]

    def _forecast(self, packing: Packing) -> Plain:
        return {
            **self.plain_window(),
            "names": {"series": self.names[0], "columns": self.names[1]},
            "patches": self.patches,
            "written": self.written,
            "rollout": None if packing.without else self.rollout(),
        }

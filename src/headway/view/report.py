"""The report page of a run: scores, settings, samples, curves, attention, next commands.

The caller collects the plain data; empty parts are left out. Text is in the HTML itself; the
components of the inspection page draw curves and attention maps.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from .labels import check_labels
from .page import render_page
from .training_log import Row, training_rows


class Figure(Protocol):
    """A score as `headway.metrics` returns it."""

    @property
    def name(self) -> str: ...
    @property
    def value(self) -> float: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def signature(self) -> str: ...


@dataclass(frozen=True)
class Sample:
    """One input with its output; confidence is a probability."""

    source: str
    output: str
    expected: str | None = None
    confidence: float | None = None
    is_right: bool | None = None


@dataclass(frozen=True)
class Moment:
    """The output of the model at one step of its training."""

    step: int
    output: str
    minutes: float | None = None


@dataclass(frozen=True)
class History:
    """The outputs for one input during training."""

    source: str
    moments: Sequence[Moment]
    expected: str | None = None


@dataclass(frozen=True)
class Picture:
    """One attention map: weights[i][j] is how much row token i attends to column token j."""

    title: str
    weights: Sequence[Sequence[float]]
    rows: list[str]
    columns: list[str]


@dataclass(frozen=True)
class Command:
    """A command line and its purpose."""

    line: str
    purpose: str = ""


@dataclass(frozen=True)
class ReportData:
    """The data of a report.

    Attributes:
        facts: task, model, parameters, data sizes, seed, time: label -> formatted value.
        machine: label -> value, for the machine of the run.
        scores: test set ("Test set, 1,000 dates") -> its figures, the main one first.
        records: lines of the run's log, in order, with keys such as step, minutes, loss,
            valid_loss, lr, tokens_per_second and those of `metrics`.
        metrics: keys of the validation metrics in the records -> labels, one chart each.
        forecasts: windows of series as `SeriesWindow` has them, as plain data.
        notes: heading ("Data", "Chosen automatically") -> sentences.
    """

    title: str
    subtitle: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, str] = field(default_factory=dict)
    scores: Mapping[str, Sequence[Figure]] = field(default_factory=dict)
    records: Sequence[Mapping[str, Any]] = ()
    metrics: Mapping[str, str] = field(default_factory=dict)
    samples: Sequence[Sample] = ()
    histories: Sequence[History] = ()
    pictures: Sequence[Picture] = ()
    forecasts: Sequence[Mapping[str, Any]] = ()
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    commands: Sequence[Command] = ()


def report(data: ReportData) -> str:
    """The whole page as one HTML string.

    Raises:
        DataError: the labels of a picture do not fit its weights.
    """
    for picture in data.pictures:
        check_labels(picture.weights, picture.rows, picture.columns, "heat map", "weight")
    rows = _curve_rows(data.records, data.metrics)
    drawn = {
        "rows": rows,
        "metrics": data.metrics,
        "pictures": [asdict(picture) for picture in data.pictures],
        "forecasts": list(data.forecasts),
    }
    return render_page(
        "report.html",
        "report_page",
        title=data.title,
        report=data,
        has_curves=bool(rows),
        data=drawn,
    )


def _curve_rows(records: Sequence[Mapping[str, Any]], metrics: Mapping[str, str]) -> list[Row]:
    """The rows with figures for a chart, without their samples."""
    keys = {"loss", "valid_loss", "lr", "tokens_per_second", *metrics}
    columns = {"step", "minutes", *keys}
    rows = [{key: row[key] for key in row if key in columns} for row in training_rows(records)]
    return [row for row in rows if keys & set(row)]

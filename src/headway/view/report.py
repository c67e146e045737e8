"""The report page of a run: scores, settings, samples, curves, attention, next commands.

All of it is plain data that the caller has gathered; a part that is empty is left out. Text is in
the HTML itself; curves and attention maps are drawn by the components of the inspection page.
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
    """One input and what became of it; confidence is a probability."""

    source: str
    output: str
    expected: str | None = None
    confidence: float | None = None
    is_right: bool | None = None


@dataclass(frozen=True)
class Moment:
    """What the model answered at one point of its training."""

    step: int
    output: str
    minutes: float | None = None


@dataclass(frozen=True)
class History:
    """One input followed through training."""

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
    """Something to type, and what it does."""

    line: str
    purpose: str = ""


@dataclass(frozen=True)
class ReportData:
    """Everything a report shows.

    Attributes:
        facts: task, model, parameters, data sizes, seed, time: label -> value as it is to be read.
        machine: the same for the machine the run was made on.
        scores: what was scored ("Test set, 1,000 dates") -> its figures, the main one first.
        records: lines of the run's log, in order, with keys such as step, minutes, loss,
            valid_loss, lr, tokens_per_second and those of `metrics`.
        metrics: keys of the validation metrics in the records -> labels, one chart each.
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
    """The rows with figures that a chart shows, without their samples."""
    keys = {"loss", "valid_loss", "lr", "tokens_per_second", *metrics}
    shown = {"step", "minutes", *keys}
    rows = [{key: row[key] for key in row if key in shown} for row in training_rows(records)]
    return [row for row in rows if keys & set(row)]

"""The page a finished run leaves behind: figures, curves, samples, attention, what to type next.

All of it is plain data that the caller has gathered; a part that is empty is left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from headway.view.curves import Record, chart, has_values
from headway.view.heatmap import heatmap
from headway.view.page import Section, page, text


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
    records: Sequence[Record] = ()
    metrics: Mapping[str, str] = field(default_factory=dict)
    samples: Sequence[Sample] = ()
    histories: Sequence[History] = ()
    pictures: Sequence[Picture] = ()
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    commands: Sequence[Command] = ()


def report(data: ReportData) -> str:
    """The whole page as one HTML string."""
    parts = {
        "Scores": _scores(data.scores),
        "This run": _facts(data.facts) + _facts(data.machine),
        "Samples": _samples(data.samples),
        "Training": _curves(data.records, data.metrics),
        "Outputs while it learned": "".join(_history(history) for history in data.histories),
        "Attention": "".join(heatmap(p.weights, p.rows, p.columns, p.title) for p in data.pictures),
        "Notes": _notes(data.notes),
        "What to type next": _commands(data.commands),
    }
    wrappers = {"This run": "card", "Training": "charts", "Attention": "pictures"}
    wrappers |= {"Notes": "card notes", "What to type next": "card"}
    sections = [
        Section(
            title, f'<div class="{wrappers[title]}">{body}</div>' if title in wrappers else body
        )
        for title, body in parts.items()
        if body
    ]
    return page(data.title, sections, data.subtitle)


def _facts(facts: Mapping[str, str]) -> str:
    if not facts:
        return ""
    items = "".join(
        f'<div><dt>{text(label)}</dt><dd dir="auto">{text(value)}</dd></div>'
        for label, value in facts.items()
    )
    return f'<dl class="facts">{items}</dl>'


def _scores(groups: Mapping[str, Sequence[Figure]]) -> str:
    return "".join(
        f'<h3>{text(title)}</h3><div class="scores">'
        + "".join(_score(figure) for figure in figures)
        + "</div>"
        for title, figures in groups.items()
        if figures
    )


def _score(figure: Figure) -> str:
    interval = "no interval"
    if figure.low is not None and figure.high is not None:
        interval = f"95% interval {figure.low:.2f} to {figure.high:.2f}"
    signature = text(figure.signature).replace("|", "|<wbr>")  # lines break between its fields
    return (
        f'<div class="card score"><div class="name">{text(figure.name)}</div>'
        f'<div class="value">{figure.value:.2f}</div><div class="interval">{interval}</div>'
        f'<div class="signature">{signature}</div></div>'
    )


def _curves(records: Sequence[Record], metrics: Mapping[str, str]) -> str:
    by_minutes = has_values(records, "minutes")
    x, x_label = ("minutes", "minutes of training") if by_minutes else ("step", "step")
    charts: list[tuple[str, dict[str, str]]] = [
        ("Loss", {"loss": "training", "valid_loss": "validation"}),
        *((f"{label} on validation data", {key: label}) for key, label in metrics.items()),
        ("Learning rate", {"lr": "learning rate"}),
        ("Speed", {"tokens_per_second": "tokens per second"}),
    ]
    drawn = []
    for title, series in charts:
        present = {key: label for key, label in series.items() if has_values(records, key)}
        if present:
            drawn.append(chart(records, present, title, x, x_label))
    return "".join(drawn)


def _table(head: Sequence[str], rows: Iterator[str]) -> str:
    cells = "".join(f"<th{_numeric(title)}>{text(title)}</th>" for title in head)
    return (
        f'<div class="card table-card scroll"><table class="rows"><thead><tr>{cells}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _numeric(title: str) -> str:
    return ' class="number"' if title in ("Confidence", "Step", "Minutes") else ""


def _samples(samples: Sequence[Sample]) -> str:
    if not samples:
        return ""
    optional = {
        "Expected": any(s.expected is not None for s in samples),
        "Confidence": any(s.confidence is not None for s in samples),
        "": any(s.is_right is not None for s in samples),
    }
    shown = [title for title, is_shown in optional.items() if is_shown]
    return _table(["Input", "Output", *shown], (_sample(sample, shown) for sample in samples))


def _sample(sample: Sample, shown: Sequence[str]) -> str:
    cells = [_words(sample.source), _words(sample.output)]
    if "Expected" in shown:
        cells.append(_words(sample.expected or ""))
    if "Confidence" in shown:
        cells.append(f'<td class="number">{_confidence(sample.confidence)}</td>')
    if "" in shown:
        cells.append(f"<td>{_mark(sample.is_right)}</td>")
    return f"<tr>{''.join(cells)}</tr>"


def _words(words: str) -> str:
    return f'<td dir="auto">{text(words)}</td>'


def _confidence(probability: float | None) -> str:
    if probability is None:
        return ""
    percent = 100 * min(max(probability, 0.0), 1.0)
    meter = f'<span class="meter" aria-hidden="true"><i style="width:{percent:.1f}%"></i></span>'
    return f'{meter}<span class="percent">{percent:.1f}%</span>'


def _mark(is_right: bool | None) -> str:
    if is_right is None:
        return ""
    kind, sign, word = ("good", "✓", "right") if is_right else ("bad", "✗", "wrong")
    return f'<span class="mark {kind}">{sign} {word}</span>'


def _history(history: History) -> str:
    has_minutes = any(moment.minutes is not None for moment in history.moments)
    head = ["Step", *(["Minutes"] if has_minutes else []), "Output"]
    return (
        f'<div class="history"><h3><bdi>{text(history.source)}</bdi></h3>'
        f"{_table(head, _moments(history, has_minutes))}</div>"
    )


def _moments(history: History, has_minutes: bool) -> Iterator[str]:
    for moment in history.moments:
        minutes = "" if moment.minutes is None else f"{moment.minutes:.1f}"
        cells = f'<td class="number">{moment.step:,}</td>'
        cells += f'<td class="number">{minutes}</td>' if has_minutes else ""
        yield f"<tr>{cells}{_words(moment.output)}</tr>"
    if history.expected is not None:
        span = 2 if has_minutes else 1
        yield f'<tr class="expected"><td class="number" colspan="{span}">expected</td>'
        yield f"{_words(history.expected)}</tr>"


def _notes(notes: Mapping[str, Sequence[str]]) -> str:
    return "".join(
        f"<h3>{text(heading)}</h3><ul>"
        + "".join(f'<li dir="auto">{text(line)}</li>' for line in lines)
        + "</ul>"
        for heading, lines in notes.items()
        if lines
    )


def _commands(commands: Sequence[Command]) -> str:
    if not commands:
        return ""
    items = "".join(
        f"<div><dt><code>{text(command.line)}</code></dt>"
        + (f"<dd>{text(command.purpose)}</dd>" if command.purpose else "")
        + "</div>"
        for command in commands
    )
    return f'<dl class="commands">{items}</dl>'

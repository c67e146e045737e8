"""Charts of values with their intervals as SVG files, for light and dark.

`points` has one value on each line, `lines` joins the values of each series along the labels of the
x axis, `panels` has several such charts below each other. Points rather than bars, because
differences matter here and zero is mostly far away. The template `chart.svg` writes the markup.
"""

import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeGuard

from .page import render

WIDTH = 720
MARGIN, HEAD, FOOT = 18, 46, 44  # around; above the drawing; below it
ROW, HEIGHT = 30, 250  # of one value of `points`; of the drawing of `lines`
PANEL, HEADING, GAP = 190, 24, 26  # of one chart of `panels`: itself, words above, labels below
LABEL, LETTER = 30, 7.2  # longest label in half-width letters; width of one at 13 px
COLORS = 6  # series of the style sheet
SPREAD = 0.5  # width of the points of one label, as a fraction of the distance of two labels


@dataclass(frozen=True)
class _Path:
    css: str
    d: str
    transform: str = ""
    shape: ClassVar = "path"


@dataclass(frozen=True)
class _Circle:
    css: str
    x: float
    y: float
    r: float
    shape: ClassVar = "circle"


@dataclass(frozen=True)
class _Text:
    x: float
    y: float
    words: str
    anchor: str = "middle"
    css: str = ""
    shape: ClassVar = "text"


@dataclass(frozen=True)
class _Group:
    """Shapes with a text that a browser shows under the pointer."""

    title: str
    shapes: "list[_Shape]"
    shape: ClassVar = "group"


_Shape = _Path | _Circle | _Text | _Group


@dataclass(frozen=True)
class Mark:
    """A value and its interval, if it has one.

    Attributes:
        singles: the values that it is the mean of.
    """

    value: float
    low: float | None = None
    high: float | None = None
    singles: Sequence[float] = ()

    def reach(self) -> list[float]:
        """All values that must be visible."""
        ends = [end for end in (self.low, self.high) if end is not None]
        return [x for x in (self.value, *ends, *self.singles) if math.isfinite(x)]


def points(marks: Mapping[str, Mark], title: str, x_label: str, digits: int = 2) -> str:
    """A chart with a row for each value: its label, the value on an axis, its figure.

    Args:
        digits: decimals of the figures.
    """
    reach = [x for mark in marks.values() for x in mark.reach()]
    ticks = nice_ticks(min(reach, default=0.0), max(reach, default=1.0), about=6)
    left = MARGIN + 12 + max((_width(_short(label)) for label in marks), default=0.0)
    right = (
        WIDTH
        - MARGIN
        - 12
        - max((LETTER * len(_figure(m, digits)) for m in marks.values()), default=0.0)
    )
    axis = _Axis(ticks[0], ticks[-1], left, right)
    bottom = HEAD + ROW * len(marks)
    shapes: list[_Shape] = [_title(title)]
    for tick in ticks:
        css = "base" if tick == ticks[0] else "grid"
        shapes.append(_Path(css, f"M{axis(tick)} {HEAD}V{bottom}"))
        shapes.append(_Text(axis(tick), bottom + 17, tick_label(tick, ticks[1] - ticks[0])))
    shapes.append(_Text((left + right) / 2, bottom + 36, x_label))
    for row, (label, mark) in enumerate(marks.items()):
        y = HEAD + ROW * (row + 0.5)
        shapes.append(_Text(left - 12, y + 4.5, _short(label), "end", "ink"))
        shapes.append(_Text(WIDTH - MARGIN, y + 4.5, _figure(mark, digits), "end", "ink"))
        if mark.reach():
            words = f"{label}: {_described(mark, f'.{digits}f')}"
            shapes.append(_Group(words, list(_across(mark, axis, y))))
    return _document(title, bottom + FOOT, shapes)


def lines(
    series: Mapping[str, Sequence[Mark | None]],
    x_ticks: Sequence[str],
    title: str,
    x_label: str,
    digits: int = 2,
    log: bool = False,
) -> str:
    """A line for each series over the same x labels; None leaves a gap.

    Points of one label are drawn a little apart, so that their intervals can be distinguished.

    Args:
        digits: decimals of the figures; with `log`, significant digits.
        log: whether the y axis is logarithmic; a line to a value that is not positive then leaves
            the drawing at the bottom.
    """
    return panels({"": series}, x_ticks, title, x_label, digits, log)


def panels(
    drawings: Mapping[str, Mapping[str, Sequence[Mark | None]]],
    x_ticks: Sequence[str],
    title: str,
    x_label: str,
    digits: int = 2,
    log: bool = False,
    floor: float = 0.0,
) -> str:
    """Charts as of `lines` below each other, each with its heading, with one scale and one legend.

    Args:
        drawings: the same series, in the same order, under each heading.
        floor: with `log`, the smallest value that is drawn.
    """
    labels = list(next(iter(drawings.values()), {}))
    everything = [mark for series in drawings.values() for row in series.values() for mark in row]
    reach = [x for mark in everything if mark for x in mark.reach()]
    if log:
        reach = [max(x, floor) for x in reach if x > 0]
    scale = _Scale.around(reach, digits, log)
    left = MARGIN + 8 + max(LETTER * len(label) for label in scale.labels)
    along = _Axis(-0.5, len(x_ticks) - 0.5, left, WIDTH - MARGIN)
    keys = list(_legend(labels))
    shapes: list[_Shape] = [_title(title)]
    for index, (label, (x, y)) in enumerate(zip(labels, keys, strict=True)):
        shapes.append(_Path(f"line s{index % COLORS}", f"M{x} {HEAD + y}h28"))
        shapes.append(_marker(index, x + 14, HEAD + y))
        shapes.append(_Text(x + 36, HEAD + y + 4.5, _short(label), "start", "ink"))
    bottom = HEAD + (keys[-1][1] + 26 if keys else 0) - GAP
    for heading, series in drawings.items():
        top = bottom + GAP + (HEADING if heading else 0)
        bottom = top + (HEIGHT if len(drawings) == 1 else PANEL)
        if heading:
            shapes.append(_Text(left, top - 9, heading, "start", "ink"))
        shapes.extend(_grid(scale, x_ticks, along, left, top, bottom))
        down = scale.axis(bottom, top)
        for index, (label, marks) in enumerate(series.items()):
            aside = SPREAD * ((index + 0.5) / len(series) - 0.5)
            shapes.extend(_along(index, label, marks, x_ticks, (along, down), aside, scale))
    shapes.append(_Text((left + WIDTH - MARGIN) / 2, bottom + 36, x_label))
    return _document(title, bottom + FOOT, shapes)


@dataclass(frozen=True)
class _Scale:
    """Ticks with their labels, the number format of figures, and whether it is logarithmic."""

    ticks: list[float]
    labels: list[str]
    form: str
    log: bool

    @classmethod
    def around(cls, values: Sequence[float], digits: int, log: bool) -> "_Scale":
        if not log:
            ticks = nice_ticks(min(values, default=0.0), max(values, default=1.0))
            step = ticks[1] - ticks[0]
            return cls(ticks, [tick_label(tick, step) for tick in ticks], f".{digits}f", log)
        ticks = ratio_ticks(min(values, default=1.0), max(values, default=10.0))
        return cls(ticks, [_ratio_label(tick) for tick in ticks], f".{digits}g", log)

    def axis(self, start: float, end: float) -> "_Axis":
        return _Axis(self.ticks[0], self.ticks[-1], start, end, self.log)

    def shows(self, mark: Mark | None) -> TypeGuard[Mark]:
        return mark is not None and math.isfinite(mark.value) and not self.loses(mark)

    def loses(self, mark: Mark | None) -> TypeGuard[Mark]:
        """Whether a value is below a logarithmic scale."""
        return self.log and mark is not None and mark.value < self.ticks[0] * (1 - 1e-9)


def nice_ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round values, 1, 2 or 5 times a power of ten apart, that enclose `low` and `high`.

    Never fewer than two; equal ends are moved apart first.
    """
    if not high > low:
        pad = abs(low) * 0.1 or 1.0
        low, high = low - pad, high + pad
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= raw * (1 - 1e-9))
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    return [i * step for i in range(first, last + 1)]


def tick_label(value: float, step: float) -> str:
    """A tick's value, with the digits that its distance to the next tick needs."""
    value = 0.0 if abs(value) < step / 1e6 else value
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        # 1,500 stays as it is: it is no longer than 1.5k
        if step >= size or (abs(value) >= 10 * size and step >= size / 10):
            return "0" if value == 0 else f"{value / size:.6g}{letter}"
    if step >= 1:
        return f"{value:,.0f}"
    decimals = math.ceil(-math.log10(step) - 1e-9)
    if decimals <= 4 or value == 0:
        return f"{value:.{decimals if value else 0}f}"
    mantissa, _, exponent = f"{value:.6e}".partition("e")
    return f"{float(mantissa):g}e{int(exponent)}"


def ratio_ticks(low: float, high: float, most: int = 8) -> list[float]:
    """Values that enclose `low` and `high`, both above zero, on a logarithmic scale.

    Up to three powers of ten: 1, 2 and 5 times each; more: powers only, at most about `most`.
    """
    first = math.floor(math.log10(low) + 1e-9)
    last = max(math.ceil(math.log10(high) - 1e-9), first + 1)
    if last - first > 3:
        step = math.ceil((last - first) / most)
        first = last - step * math.ceil((last - first) / step)
        return [10.0**power for power in range(first, last + 1, step)]
    ticks = [m * 10.0**power for power in range(first, last + 1) for m in (1, 2, 5)]
    begin = max(i for i, tick in enumerate(ticks) if tick <= low * (1 + 1e-9))
    end = min(i for i, tick in enumerate(ticks) if tick >= high * (1 - 1e-9))
    return ticks[begin : max(end, begin + 1) + 1]


def _ratio_label(tick: float) -> str:
    power = math.floor(math.log10(tick) + 1e-9)
    if -3 <= power <= 4:
        return f"{tick:,.{max(0, -power)}f}"
    times = round(tick / 10.0**power)
    small = str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{small}" if times == 1 else f"{times}·10{small}"


def _grid(
    scale: _Scale, x_ticks: Sequence[str], along: "_Axis", left: float, top: float, bottom: float
) -> Iterator[_Shape]:
    """Grid lines and the labels of both axes."""
    down = scale.axis(bottom, top)
    for tick, label in zip(scale.ticks, scale.labels, strict=True):
        css = "base" if tick == scale.ticks[0] else "grid"
        yield _Path(css, f"M{left:.1f} {down(tick)}H{WIDTH - MARGIN}")
        yield _Text(left - 8, down(tick) + 4, label, "end")
    for i, x_tick in enumerate(x_ticks):
        yield _Text(along(i), bottom + 17, x_tick)


class _Axis:
    """Maps values between `low` and `high` to pixels between `start` and `end`.

    Args:
        log: logarithmically; values below `low` are then at the start.
    """

    def __init__(
        self, low: float, high: float, start: float, end: float, log: bool = False
    ) -> None:
        self.least, self.log = low, log
        self.low = self._way(low)
        self.span, self.start, self.length = self._way(high) - self.low, start, end - start

    def __call__(self, value: float) -> float:
        share = (self._way(value) - self.low) / self.span
        return round(self.start + share * self.length, 1)

    def _way(self, value: float) -> float:
        return math.log10(max(value, self.least)) if self.log else value


def _across(mark: Mark, axis: _Axis, y: float) -> Iterator[_Shape]:
    """The interval with its ends, the single values, the value itself."""
    if mark.low is not None and mark.high is not None:
        low, high = axis(mark.low), axis(mark.high)
        ends = f"M{low} {y - 5}v10M{high} {y - 5}v10"
        yield _Path("whisker s0", f"M{low} {y}H{high}{ends}")
    for single in mark.singles:
        if math.isfinite(single):
            yield _Circle("single s1", axis(single), y, 3.4)
    if math.isfinite(mark.value):
        yield _Circle("dot s0", axis(mark.value), y, 5)


def _along(
    index: int,
    label: str,
    marks: Sequence[Mark | None],
    x_ticks: Sequence[str],
    axes: tuple[_Axis, _Axis],
    aside: float,
    scale: _Scale,
) -> Iterator[_Shape]:
    """The line segments of one series between its gaps, then its intervals and points."""
    along, down = axes
    color, stroke = f"s{index % COLORS}", ""
    for i, mark in enumerate(marks):
        is_joined = bool(stroke) and stroke[-1] != " "
        if scale.shows(mark) or (is_joined and scale.loses(mark)):
            stroke += f"{'L' if is_joined else 'M'}{along(i + aside)} {down(mark.value)}"
        if not scale.shows(mark):
            stroke += " "
    if stroke.strip():
        yield _Path(f"line {color}", " ".join(stroke.split()))
    for i, (mark, x_tick) in enumerate(zip(marks, x_ticks, strict=True)):
        if not scale.shows(mark):
            continue
        x, whisker = along(i + aside), []
        if mark.low is not None and mark.high is not None:
            low, high = down(mark.low), down(mark.high)
            ends = f"M{x - 4:.1f} {low}h8M{x - 4:.1f} {high}h8"
            whisker = [_Path(f"whisker {color}", f"M{x} {low}V{high}{ends}")]
        words = f"{label}, {x_tick}: {_described(mark, scale.form)}"
        yield _Group(words, [*whisker, _marker(index, x, down(mark.value))])


def _marker(index: int, x: float, y: float) -> _Path:
    """A shape for each series; with the colours, thirty-six series differ."""
    shapes = (
        "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z",
        "M-4 -4h8v8h-8z",
        "M0 -5.4L5 4H-5z",
        "M0 -5.6L5.6 0L0 5.6L-5.6 0z",
        "M0 5.4L5 -4H-5z",
        "M-1.8 -5h3.6v3.2h3.2v3.6h-3.2v3.2h-3.6v-3.2h-3.2v-3.6h3.2z",
    )
    shape = shapes[(index + index // COLORS) % len(shapes)]
    return _Path(f"dot s{index % COLORS}", shape, f"translate({x} {y})")


def _legend(labels: Sequence[str]) -> Iterator[tuple[float, float]]:
    """Coordinates of the keys, from left to right, in as many lines as needed."""
    x, y = float(MARGIN), 0.0
    for label in labels:
        width = 36 + _width(_short(label))
        if x > MARGIN and x + width > WIDTH - MARGIN:
            x, y = float(MARGIN), y + 20
        yield round(x, 1), y
        x += width + 22


def _document(title: str, height: float, shapes: Sequence[_Shape]) -> str:
    return render("chart.svg", title=title, width=WIDTH, height=f"{height:g}", shapes=shapes)


def _title(words: str) -> _Text:
    return _Text(MARGIN, 28, words, "start", "title")


def _described(mark: Mark, form: str) -> str:
    ends = ""
    if mark.low is not None and mark.high is not None:
        ends = f" [{mark.low:{form}}, {mark.high:{form}}]"
    return f"{mark.value:{form}}{ends}"


def _figure(mark: Mark, digits: int) -> str:
    return f"{mark.value:.{digits}f}"


def _short(label: str) -> str:
    return label if len(label) <= LABEL else label[: LABEL - 1] + "…"


def _width(label: str) -> float:
    """Approximate width of a label; East Asian letters are twice as wide."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in label)
    return LETTER * (len(label) + wide)

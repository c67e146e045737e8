"""Line charts from log records, as inline SVG that needs no script.

A record is one line of a run's log; keys it lacks are simply not drawn at that point. A value that
is not finite breaks the line and is counted under the title, because it should be seen.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from headway.view.page import text

Record = Mapping[str, object]

WIDTH, HEIGHT = 560, 250
LEFT, RIGHT, TOP, BOTTOM = 54, 14, 10, 40
MOST_POINTS = 240  # more cannot be told apart on a screen and make the page heavy
FEW_POINTS = 30  # up to here every point gets a dot
MOST_SERIES = 4  # as many as the palette can tell apart
_TOO_LARGE = 1e300  # differences of larger values would overflow


class Point(NamedTuple):
    """One logged value; y is None where the value was not finite."""

    x: float
    y: float | None
    record: Record


def chart(
    records: Sequence[Record],
    series: Mapping[str, str],
    title: str,
    x: str = "step",
    x_label: str = "step",
) -> str:
    """A line chart of one or several keys against `x`, with a legend and values on hover.

    Args:
        series: key in the records -> label in the legend, at most four.
    """
    if len(series) > MOST_SERIES:
        raise ValueError(f"{len(series)} series in one chart; expected at most {MOST_SERIES}")
    lines = {key: _points(records, x, key) for key in series}
    everything = [point for points in lines.values() for point in points]
    odd = sum(point.y is None for point in everything)
    drawing = '<p class="quiet">Nothing was logged.</p>'
    if odd < len(everything):
        plane = _Plane.around(everything)
        parts = list(_axes(plane, x_label))
        for i, key in enumerate(series):
            parts.extend(_line(i, thin(lines[key]), plane, series[key]))
        drawing = (
            f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'aria-label="{text(title)}">{"".join(parts)}</svg>'
        )
    warning = f'<span class="key bad">{odd:,} not finite, left out</span>' if odd else ""
    legend = "".join(_key(i, series[key], lines[key]) for i, key in enumerate(series))
    return (
        f'<figure class="card"><figcaption><strong dir="auto">{text(title)}</strong>'
        f"{legend}{warning}</figcaption>{drawing}</figure>"
    )


def has_values(records: Sequence[Record], key: str) -> bool:
    """Whether a chart of this key would show anything."""
    return any(_number(record.get(key)) is not None for record in records)


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
    """A tick's value, with the digits its distance to the next tick calls for."""
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


def thin(points: Sequence[Point], most: int = MOST_POINTS) -> list[Point]:
    """At most about `most` points that keep both ends, every peak and trough, and the gaps.

    Neighbours share a bucket, and of each bucket the lowest, the highest and one gap remain.
    """
    if len(points) <= most:
        return list(points)
    kept = {0, len(points) - 1}
    buckets = most // 2
    for b in range(buckets):
        bucket = range(b * len(points) // buckets, (b + 1) * len(points) // buckets)
        values = [(y, i) for i in bucket if (y := points[i].y) is not None]
        if values:
            kept |= {min(values)[1], max(values)[1]}
        if len(values) < len(bucket):
            kept.add(next(i for i in bucket if points[i].y is None))
    return [points[i] for i in sorted(kept)]


def _number(value: object) -> float | None:
    """A logged number, finite or not; None for everything else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None  # type: ignore[arg-type]


def _points(records: Sequence[Record], x: str, key: str) -> list[Point]:
    points = []
    for record in records:
        at, value = _number(record.get(x)), _number(record.get(key))
        if at is None or value is None or not abs(at) < _TOO_LARGE:
            continue
        points.append(Point(at, value if abs(value) < _TOO_LARGE else None, record))
    return points


@dataclass(frozen=True)
class _Plane:
    """Where values stand in the drawing."""

    x_low: float
    x_high: float
    x_ticks: list[float]
    y_ticks: list[float]

    @classmethod
    def around(cls, points: Sequence[Point]) -> "_Plane":
        values = [p.y for p in points if p.y is not None]
        x_low, x_high = min(p.x for p in points), max(p.x for p in points)
        x_ticks = nice_ticks(x_low, x_high, about=6)
        if x_low == x_high:  # a lone point stands in the middle
            x_low, x_high = x_ticks[0], x_ticks[-1]
        x_ticks = [tick for tick in x_ticks if x_low <= tick <= x_high]
        return cls(x_low, x_high, x_ticks, nice_ticks(min(values), max(values)))

    def x(self, value: float) -> float:
        share = (value - self.x_low) / (self.x_high - self.x_low)
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        share = (value - self.y_ticks[0]) / (self.y_ticks[-1] - self.y_ticks[0])
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)


def _axes(plane: _Plane, x_label: str) -> Iterator[str]:
    step = plane.y_ticks[1] - plane.y_ticks[0]
    for tick in plane.y_ticks:
        y = plane.y(tick)
        kind = "base" if tick == plane.y_ticks[0] else "grid"
        yield f'<path class="{kind}" d="M{LEFT} {y}H{WIDTH - RIGHT}"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">'
        yield f"{tick_label(tick, step)}</text>"
    step = plane.x_ticks[1] - plane.x_ticks[0] if len(plane.x_ticks) > 1 else 1.0
    for tick in plane.x_ticks:
        yield f'<text x="{plane.x(tick)}" y="{HEIGHT - BOTTOM + 17}" text-anchor="middle">'
        yield f"{tick_label(tick, step)}</text>"
    yield f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 4}" text-anchor="middle">'
    yield f"{text(x_label)}</text>"


def _line(index: int, points: Sequence[Point], plane: _Plane, label: str) -> Iterator[str]:
    """The strokes between gaps, dots where points are few or alone, and spots to hover over."""
    runs: list[list[Point]] = [[]]
    for point in points:
        if point.y is None:
            runs.append([])
        else:
            runs[-1].append(point)
    for run in runs:
        spots = [(plane.x(p.x), plane.y(p.y or 0.0)) for p in run]
        if len(spots) > 1:
            path = "L".join(f"{x} {y}" for x, y in spots)
            yield f'<path class="line s{index}" d="M{path}"/>'
        if len(spots) == 1 or len(points) <= FEW_POINTS:
            yield from (f'<circle class="dot s{index}" cx="{x}" cy="{y}" r="3"/>' for x, y in spots)
        for point, (x, y) in zip(run, spots, strict=True):
            words = text(_describe(point, label))
            yield f'<circle class="hit" cx="{x}" cy="{y}" r="6"><title>{words}</title></circle>'


def _describe(point: Point, label: str) -> str:
    """What hovering shows: the value, and when it was."""
    parts = [f"{label} {point.y:.6g}"]
    step, minutes = _number(point.record.get("step")), _number(point.record.get("minutes"))
    if step is not None:
        parts.append(f"step {step:,.0f}")
    if minutes is not None:
        parts.append(f"{minutes:.1f} min")
    return " · ".join(parts)


def _key(index: int, label: str, points: Sequence[Point]) -> str:
    last = next((p.y for p in reversed(points) if p.y is not None), None)
    value = f" <b>{_short(last)}</b>" if last is not None else ""
    return (
        f'<span class="key"><svg viewBox="0 0 24 10" aria-hidden="true">'
        f'<path class="line s{index}" d="M1 5H23"/></svg>{text(label)}{value}</span>'
    )


def _short(value: float) -> str:
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"

"""A forecast as a PNG, drawn by matplotlib (extra `plot`)."""

import io
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import MissingExtra
from .heatmap_png import DPI, font_families

SIZE = (10.0, 4.2)
INK, FORECAST, QUIET, RULE, AHEAD = "#1d2024", "#1b5a96", "#5c636c", "#e2dfd8", "#f7f6f3"
"""The colours of the pages in light."""
FLOORS = {"seasonal": "last season", "ridge": "ridge regression", "naive": "last value"}
"""Names of simple models; the first that there is is drawn, and ridge."""
STRIP = 12
"""How many times higher than the strip of attention the chart is."""
LEAST = 24
"""Steps of history that are shown at least."""


def forecast_png(
    window: Mapping[str, Any], looks: Sequence[tuple[tuple[int, int], float]] = ()
) -> bytes:
    """The picture of a window: recent history, forecast, intervals, true values, a simple model.

    Args:
        window: the `forecast` of an inspection.
        looks: first and last step of each patch, and how much the forecast draws on it: a strip
            below the history.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise MissingExtra("drawing a PNG", "matplotlib", "plot") from None
    title = " · ".join(filter(None, [window["series"], window["column"]]))
    figure = Figure(figsize=SIZE, dpi=DPI)
    FigureCanvasAgg(figure)
    if looks:
        axes, strip = figure.subplots(
            2, 1, sharex=True, gridspec_kw={"height_ratios": [STRIP, 1], "hspace": 0.05}
        )
        axes.tick_params(labelbottom=False)
    else:
        axes, strip = figure.add_subplot(), None
    _draw(axes, window)
    if strip is not None:
        _draw_looks(strip, window, looks)
    names = font_families(title)
    heading = axes.set_title(title, loc="left", fontsize=12, family=names, color=INK, pad=12)
    heading.set_parse_math(False)
    axes.legend(
        loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=8, frameon=False, fontsize=8.5,
        handlelength=1.6, columnspacing=1.2, labelcolor=QUIET,
    )  # fmt: skip
    with warnings.catch_warnings(), io.BytesIO() as file:
        warnings.filterwarnings("ignore", message="Glyph")  # no font has it: it becomes a box
        figure.savefig(file, format="png", bbox_inches="tight", metadata={"Software": None})
        return file.getvalue()


def _draw(axes: Any, window: Mapping[str, Any]) -> None:
    n, horizon = len(window["history"]), len(window["forecast"])
    first = max(0, n - max(3 * horizon, LEAST))
    times = _times(window["times"])
    values = _numbers([*window["history"], *(window["truth"] or [None] * horizon)])
    ahead = times[n:]
    axes.axvspan(times[n - 1], times[-1], color=AHEAD, zorder=0)
    for i, band in enumerate(sorted(window["bands"], key=lambda band: -band["level"])):
        axes.fill_between(
            ahead, _numbers(band["low"]), _numbers(band["high"]), color=FORECAST, linewidth=0,
            alpha=0.13 if i == 0 else 0.2, label=f"{100 * band['level']:g}%",
        )  # fmt: skip
    for name, style in _floors(window["floors"]):
        axes.plot(ahead, _numbers(window["floors"][name]), color=QUIET, linewidth=1.1,
                  linestyle=style, label=FLOORS[name])  # fmt: skip
    axes.plot(times[first:], values[first:], color=INK, linewidth=1.3, label="values",
              marker="." if len(times) - first < LEAST else None)  # fmt: skip
    joined = np.concatenate([values[n - 1 : n], _numbers(window["forecast"])])
    axes.plot(times[n - 1 :], joined, color=FORECAST, linewidth=2.0, label="forecast")
    _style(axes, times)
    axes.set_xlim(times[first], times[-1])


def _draw_looks(
    axes: Any, window: Mapping[str, Any], looks: Sequence[tuple[tuple[int, int], float]]
) -> None:
    """The strip of the patches, darker where the forecast draws on more."""
    times = _times(window["times"])
    most = max(share for _, share in looks)
    for (first, last), share in looks:
        end = times[min(last + 1, len(times) - 1)]
        axes.axvspan(times[first], end, color=FORECAST, alpha=share / most, linewidth=0)
    _style(axes, times)
    axes.set_yticks([])
    axes.set_ylabel("attention", rotation=0, ha="right", va="center", fontsize=8.5, color=QUIET)


def _floors(floors: Mapping[str, Sequence[float]]) -> list[tuple[str, str]]:
    """The simple models that are drawn, each with its line style."""
    last = next((name for name in ("seasonal", "naive") if name in floors), None)
    drawn = [] if last is None else [(last, "--")]
    return [*drawn, *([("ridge", ":")] if "ridge" in floors else [])]


def _style(axes: Any, times: np.ndarray) -> None:
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(QUIET)
    axes.grid(axis="y", color=RULE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=QUIET, labelsize=9, length=3)
    axes.tick_params(axis="y", length=0)
    if times.dtype.kind == "M":
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator(minticks=4, maxticks=9)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
        axes.xaxis.get_offset_text().set_color(QUIET)


def _times(texts: Sequence[str]) -> np.ndarray:
    """Dates, or numbers of steps."""
    if texts[0].removeprefix("-").isdecimal():
        return np.array([int(text) for text in texts])
    return np.array([text.replace(" ", "T") for text in texts], "datetime64[s]")


def _numbers(values: Sequence[float | None]) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], float)

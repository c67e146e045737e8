"""A drawing of a beam search: steps from left to right, candidates best first, lines to parents.

The input is the plain data of `SearchTrace.to_dict()`. Kept hypotheses are filled, pruned ones
hollow; ended ones show their score; the path of the best has thick lines.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..view.page import text

_ROW, _GAP, _MARGIN = 46, 56, 16
_CHARACTER = 7.6  # mean width of a character at this font size
_COLOURS = {"kept": ("#dbeafe", "#1d4ed8"), "ended": ("#dcfce7", "#15803d")}
_PRUNED = ("#ffffff", "#9ca3af")


def search_tree(trace: Mapping[str, Any], words: Sequence[Sequence[str]], title: str) -> str:
    """The drawing as a self-contained SVG.

    Args:
        trace: the trace of one sentence.
        words: for each step, the word of each candidate.
        title: the text for screen readers.
    """
    steps = trace["steps"]
    boxes_at, width, height = _layout(words)
    winners = _winning_path(steps)
    lines, boxes = [], []
    for at, step in enumerate(steps):
        kept = _kept(steps[at - 1]) if at else [0]
        for index in range(len(step["token"])):
            x, y, wide = boxes_at[at + 1][index]
            x0, y0, wide0 = boxes_at[at][kept[step["parent"][index]]]
            wins = (at, index) in winners
            lines.append(_line(x0 + wide0, y0, x, y, wins, step["fate"][index]))
            boxes.append(_box(x, y, wide, words[at][index], step, index, wins))
    x, y, wide = boxes_at[0][0]
    boxes.append(_rectangle(x, y, wide, "#f3f4f6", "#6b7280", 1) + _text(x, y, wide, "START"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" font-family="system-ui, sans-serif" font-size="13" role="img">'
        f'<title>{text(title)}</title><rect width="100%" height="100%" fill="#ffffff"/>'
        f"{''.join(lines)}{''.join(boxes)}</svg>\n"
    )


def _layout(
    words: Sequence[Sequence[str]],
) -> tuple[list[list[tuple[float, float, float]]], float, float]:
    """Left edge, middle height and width of every box, column by column, START first."""
    columns = [["START"], *words]
    tallest = max(len(column) for column in columns)
    boxes, x = [], float(_MARGIN)
    for column in columns:
        wide = 2 * _MARGIN + _CHARACTER * max(6, *(len(word) for word in column))
        top = _MARGIN + (tallest - len(column)) * _ROW / 2
        boxes.append([(x, top + _ROW * (i + 0.5), wide) for i in range(len(column))])
        x += wide + _GAP
    return boxes, x - _GAP + _MARGIN, 2 * _MARGIN + tallest * _ROW


def _kept(step: Mapping[str, Sequence[Any]]) -> list[int]:
    """The indices of the candidates that are the hypotheses of the next step, in order."""
    return [i for i, fate in enumerate(step["fate"]) if fate == "kept"]


def _winning_path(steps: Sequence[Mapping[str, Sequence[Any]]]) -> set[tuple[int, int]]:
    """Step and index of the candidates on the path to the best end; empty if none ended."""
    ends = [
        (step["score"][i], at, i)
        for at, step in enumerate(steps)
        for i, fate in enumerate(step["fate"])
        if fate == "ended"
    ]
    if not ends:
        return set()
    _, at, index = max(ends)
    path = {(at, index)}
    while at:
        index = _kept(steps[at - 1])[steps[at]["parent"][index]]
        at -= 1
        path.add((at, index))
    return path


def _line(x0: float, y0: float, x: float, y: float, wins: bool, fate: str) -> str:
    colour = "#1f2937" if wins else _COLOURS.get(fate, _PRUNED)[1]
    middle = (x0 + x) / 2
    return (
        f'<path d="M{x0:.0f} {y0:.0f}C{middle:.0f} {y0:.0f} {middle:.0f} {y:.0f} {x:.0f} {y:.0f}" '
        f'fill="none" stroke="{colour}" stroke-width="{2.5 if wins else 1}"/>'
    )


def _box(
    x: float, y: float, wide: float, word: str, step: Mapping[str, Any], index: int, wins: bool
) -> str:
    fill, edge = _COLOURS.get(step["fate"][index], _PRUNED)
    figure = f"{step['log_prob'][index]:.1f}"
    if step["fate"][index] == "ended":
        figure += f"  →  {step['score'][index]:.2f}"
    return (
        _rectangle(x, y, wide, fill, edge, 2.5 if wins else 1)
        + _text(x, y - 7, wide, word)
        + _text(x, y + 9, wide, figure, "#4b5563", 11)
    )


def _rectangle(x: float, y: float, wide: float, fill: str, edge: str, stroke: float) -> str:
    top, tall = y - _ROW / 2 + 4, _ROW - 8
    return (
        f'<rect x="{x:.0f}" y="{top:.0f}" width="{wide:.0f}" height="{tall:.0f}" rx="6" '
        f'fill="{fill}" stroke="{edge}" stroke-width="{stroke}"/>'
    )


def _text(
    x: float, y: float, wide: float, content: str, colour: str = "#111827", size: int = 13
) -> str:
    return (
        f'<text x="{x + wide / 2:.0f}" y="{y + 4:.0f}" text-anchor="middle" fill="{colour}" '
        f'font-size="{size}">{text(content)}</text>'
    )

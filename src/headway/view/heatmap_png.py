"""An attention map as a PNG, drawn by matplotlib (extra `plot`).

Fonts of the machine are used, so that tokens of any script are legible if it has a font for them;
matplotlib shapes the letters and orders right-to-left text.
"""

import io
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..errors import MissingExtra
from .labels import check_labels, visible_token

DPI = 150
_LARGEST, _SMALLEST, _WIDTH = 0.32, 0.02, 12.0  # of a cell and of all cells, inches
_LABELS = 100  # on one axis; with more tokens every second, third, ... has a label
_FIRST = "DejaVu Sans"  # comes with matplotlib
NO_LETTERS = "Last Resort"  # comes with matplotlib too: boxes for all letters
_PREFERRED = ("Noto Sans", "Noto Naskh", "Noto", "Arial", "Segoe", "PingFang", "Hiragino")


def heatmap_png(
    weights: Sequence[Sequence[float]], rows: list[str], columns: list[str], title: str
) -> bytes:
    """The picture of `weights`, one row per output token and one column per input token.

    Raises:
        MissingExtra: matplotlib is not installed.
        DataError: the labels do not fit the weights.
    """
    check_labels(weights, rows, columns, "heat map", "weight")
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise MissingExtra("drawing a PNG", "matplotlib", "plot") from None
    cell = max(_SMALLEST, min(_LARGEST, _WIDTH / max(1, len(rows), len(columns))))
    figure = Figure(figsize=(cell * len(columns) + 2, cell * len(rows) + 2), dpi=DPI)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    image = axes.imshow(weights, cmap="Blues", vmin=0.0, aspect="equal", interpolation="nearest")
    across, down = _labelled(columns), _labelled(rows)
    named = [visible_token(columns[i]) for i in across], [visible_token(rows[i]) for i in down]
    families = font_families("".join([title, *named[0], *named[1]]))
    size = min(10.0, cell * 72 * 0.7 * max(across.step, down.step))
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_xticks(across, named[0], rotation=90, fontsize=size, family=families)
    axes.set_yticks(down, named[1], fontsize=size, family=families)
    heading = axes.set_title(title, fontsize=11, family=families, pad=12)
    wide = cell * len(columns)
    scale = axes.inset_axes((1.0 + 0.15 / wide, 0.0, 0.15 / wide, 1.0))
    figure.colorbar(image, cax=scale).outline.set_visible(False)
    for text in (*axes.get_xticklabels(), *axes.get_yticklabels(), heading):
        text.set_parse_math(False)  # a dollar is a token like any other
    with warnings.catch_warnings(), io.BytesIO() as file:
        warnings.filterwarnings("ignore", message="Glyph")  # no font has it: it becomes a box
        figure.savefig(file, format="png", bbox_inches="tight", metadata={"Software": None})
        return file.getvalue()


def _labelled(tokens: Sequence[str]) -> range:
    """Indices of the tokens of an axis that have a label."""
    return range(0, len(tokens), max(1, -(-len(tokens) // _LABELS)))


def font_families(text: str) -> list[str]:
    """Fonts of the machine that together have the letters of a text, as far as possible."""
    from matplotlib.font_manager import FontProperties, findfont, fontManager

    families = [_FIRST]
    missing = {ord(c) for c in text if not c.isspace()}
    missing -= _known(findfont(FontProperties(family=_FIRST)), missing)
    for entry in _by_preference(fontManager.ttflist) if missing else ():
        if covered := _known(entry.fname, missing):
            families.append(entry.name)
            missing -= covered
        if not missing:
            break
    return families


def _by_preference(entries: Sequence[Any]) -> Iterator[Any]:
    """Upright fonts of normal weight, each family once, preferred families first."""
    written = (e for e in entries if not e.name.startswith(NO_LETTERS))
    upright = {e.name: e for e in written if e.style == "normal" and e.weight in (400, "normal")}

    def rank(entry: Any) -> tuple[int, str]:
        ranks = (i for i, prefix in enumerate(_PREFERRED) if entry.name.startswith(prefix))
        return next(ranks, len(_PREFERRED)), entry.name

    yield from sorted(upright.values(), key=rank)


def _known(file: str, letters: Iterable[int]) -> set[int]:
    """The letters that a font has; none if it cannot be loaded."""
    from matplotlib.ft2font import FT2Font

    try:
        font = FT2Font(file)
    except (RuntimeError, OSError):
        return set()
    return {letter for letter in letters if font.get_char_index(letter)}

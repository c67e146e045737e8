"""An attention map as an HTML table: tokens on both axes, colour for weight, the figure on hover.

A table rather than a drawing, because the browser then measures, turns and orders text of any
script by itself, and a screen reader can walk through it.
"""

import math
from collections.abc import Sequence

from headway.view.matrix import check_labels
from headway.view.page import text

_SIZES = ((16, 30), (28, 24), (48, 18), (80, 13))  # up to so many tokens -> side of a cell, px
_SMALLEST = 9
_VISIBLE = str.maketrans({" ": "␣", "\n": "⏎", "\t": "⇥", "\u3000": "␣", "\u00a0": "␣"})


def heatmap(
    weights: Sequence[Sequence[float]], rows: list[str], columns: list[str], title: str
) -> str:
    """A picture of `weights`, one row per output token and one column per input token.

    Full colour is the largest weight of the map, which the scale under it names; a weight that is
    not a finite number is hatched.

    Raises:
        DataError: the labels do not fit the weights.
    """
    check_labels(weights, rows, columns, "heat map", "weight")
    finite = [w for row in weights for w in row if math.isfinite(w)]
    largest = max(finite, default=0.0)
    side = next((px for most, px in _SIZES if max(len(rows), len(columns)) <= most), _SMALLEST)
    head = "".join(f'<th scope="col">{_label(token)}</th>' for token in columns)
    body = "".join(
        f'<tr><th scope="row">{_label(token)}</th>'
        + "".join(_cell(w, largest, token, column) for w, column in zip(row, columns, strict=True))
        + "</tr>"
        for token, row in zip(rows, weights, strict=True)
    )
    return (
        f'<figure class="card"><figcaption><strong dir="auto">{text(title)}</strong>'
        f'<span class="key">0<span class="scale"></span>{largest:.2f}</span></figcaption>'
        f'<div class="scroll"><table class="heat" style="--cell:{side}px">'
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table></div></figure>"
    )


def _label(token: str) -> str:
    shown = shown_token(token)
    kind = ' class="letter"' if len(shown) == 1 else ""  # fits over its column without being turned
    return f'<span{kind} dir="auto" title="{text(token)}">{text(shown)}</span>'


def shown_token(token: str) -> str:
    """A token with its white space made visible."""
    return token.translate(_VISIBLE) or "∅"


def _cell(weight: float, largest: float, row: str, column: str) -> str:
    # Isolates (FSI, PDI) keep an Arabic token from pulling the figure to its other side.
    where = f"\u2068{shown_token(row)}\u2069 → \u2068{shown_token(column)}\u2069"
    if not math.isfinite(weight):
        return f'<td class="odd" title="{text(where)}: {weight}"></td>'
    share = min(max(weight / largest, 0.0), 1.0) if largest > 0 else 0.0
    return f'<td title="{text(where)}: {weight:.4f}"><i style="opacity:{share:.3f}"></i></td>'

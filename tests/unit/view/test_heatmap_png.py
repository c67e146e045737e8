"""Heat maps as PNG: what they show, which fonts they take, and what is refused."""

import io
import sys

import pytest

from headway.errors import DataError, MissingExtra
from headway.view.heatmap_png import NO_LETTERS, font_families, heatmap_png

SCRIPTS = "hat Кот 猫マット 한국어 שלום سلام नमस्ते ▁⟨⟩"


def opened(png):
    from PIL import Image

    return Image.open(io.BytesIO(png)).convert("RGB")


def colours(png):
    return {colour for _, colour in opened(png).getcolors(2**24)}


def test_weights_are_colours():
    from matplotlib import colormaps

    def blue(share):
        return tuple(round(255 * part) for part in colormaps["Blues"](share)[:3])

    png = heatmap_png([[0.8, 0.0], [0.4, 0.8]], ["a", "b"], ["x", "y"], "four cells")
    image = opened(png)
    counted = {colour: n for n, colour in image.getcolors(2**24)}
    full, none, half = blue(1.0), blue(0.0), blue(0.5)
    assert counted[full] > 1.7 * counted[none] > 0, "two full cells and an empty one"
    near = sum(
        n for c, n in counted.items() if max(abs(x - y) for x, y in zip(c, half, strict=True)) < 3
    )
    assert near > 0.8 * counted[none]


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 40), (40, 1), (150, 130)])
def test_sizes(rows, columns):
    weights = [[1 / columns] * columns] * rows
    image = opened(heatmap_png(weights, ["a"] * rows, ["b"] * columns, "t"))
    assert min(image.size) > 50
    assert max(image.size) < 2600


def test_every_script_that_the_machine_can_write():
    from matplotlib.font_manager import FontProperties, findfont, fontManager
    from matplotlib.ft2font import FT2Font

    letters = {ord(c) for c in SCRIPTS if not c.isspace()}
    possible = set()
    for entry in fontManager.ttflist:
        is_upright = entry.style == "normal" and entry.weight == 400
        if is_upright and not entry.name.startswith(NO_LETTERS):
            font = FT2Font(entry.fname)
            possible |= {c for c in letters if font.get_char_index(c)}
    files = [findfont(FontProperties(family=[name])) for name in font_families(SCRIPTS)]
    assert not any("LastResort" in file for file in files)
    chosen = {c for c in letters for file in files if FT2Font(file).get_char_index(c)}
    assert chosen == possible
    assert {ord(c) for c in "hatКот"} <= chosen, "the font that comes with matplotlib has these"


def test_letters_that_every_font_has_need_no_search():
    assert font_families("hat, Кот!") == ["DejaVu Sans"]


def test_tokens_of_any_kind_are_labels_and_no_formulas():
    odd = ["$", r"$\frac$", "_^", "", " ", "\n", "\U0010fffd", "<b>"]
    assert heatmap_png([[1.0] * 8] * 8, odd, odd, r"$\nothing$")[:4] == b"\x89PNG"


def test_the_same_picture_twice():
    once, again = (heatmap_png([[0.5, 0.5]], ["a"], ["b", "c"], "t") for _ in range(2))
    assert once == again


def test_labels_that_do_not_fit():
    with pytest.raises(DataError, match="1 rows of weights but 2 row labels"):
        heatmap_png([[1.0]], ["a", "b"], ["c"], "t")


def test_without_matplotlib(monkeypatch):
    for name in list(sys.modules):
        if name.partition(".")[0] == "matplotlib":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra) as error:
        heatmap_png([[1.0]], ["a"], ["b"], "t")
    assert str(error.value) == (
        "drawing a PNG needs the package 'matplotlib', which is not installed; "
        "pip install 'headway-attention[plot]'"
    )

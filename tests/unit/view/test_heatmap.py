import math
import re

import pytest

from headway.errors import DataError
from headway.view.heatmap import heatmap


def opacities(html):
    return [float(x) for x in re.findall(r"opacity:([\d.]+)", html)]


def test_cells_labels_and_exact_weights(read):
    html = heatmap([[0.25, 0.75, 0], [0.1, 0.2, 0.7]], ["y1", "y2"], ["a", "b", "c"], "Layer 2")
    found = read(html)
    assert len(found.all("i")) == 6
    labels = [words for words in found.words("span") if words != "0" and words != "0.75"]
    assert labels == ["a", "b", "c", "y1", "y2"]
    assert opacities(html) == pytest.approx([1 / 3, 1, 0, 0.133, 0.267, 0.933], abs=1e-3)
    titles = [cell["title"] for cell in found.all("td") if "title" in cell]
    assert titles[1] == "\u2068y1\u2069 → \u2068b\u2069: 0.7500"
    assert "0.75</span>" in html  # the scale


def test_tokens_are_escaped(read):
    bad = "<script>alert('x')</script>\""
    html = heatmap([[1.0]], [bad], [bad], bad)
    assert "<script" not in html
    found = read(html)
    assert bad in found.words("strong")
    assert found.words("span").count(bad) == 2


def test_labels_take_their_own_direction(read):
    found = read(heatmap([[1.0, 0.0]], ["三月"], ["مارس", "مرץ"], "t"))
    labels = [span for span in found.all("span") if "title" in span]
    assert len(labels) == 3
    assert all(span["dir"] == "auto" for span in labels)


def test_white_space_is_shown():
    html = heatmap([[1.0, 0.0, 0.0]], [""], [" a", "\n", "\t"], "t")
    for visible in ("␣a", "⏎", "⇥", "∅"):
        assert f">{visible}</span>" in html


def test_only_single_letters_stand_upright(read):
    found = read(heatmap([[1.0, 0.0, 0.0]], ["r1"], ["日", " a", " "], "t"))
    labels = [span.get("class") for span in found.all("span") if "title" in span]
    assert labels == ["letter", None, "letter", None]


def test_extremes():
    html = heatmap([[math.nan, -0.5, 2.0, math.inf]], ["r"], list("abcd"), "t")
    assert opacities(html) == [0.0, 1.0]
    assert html.count('class="odd"') == 2
    assert "-0.5000" in html
    assert opacities(heatmap([[0.0, 0.0]], ["r"], ["a", "b"], "t")) == [0.0, 0.0]


def test_no_tokens_and_many_tokens(read):
    assert read(heatmap([], [], [], "t")).all("i") == []
    html = heatmap([[0.01] * 120] * 3, list("xyz"), [str(i) for i in range(120)], "t")
    assert len(read(html).all("i")) == 360
    assert "--cell:9px" in html


def test_errors_in_words():
    with pytest.raises(DataError, match=r"^the heat map has 1 rows of weights but 2 row labels"):
        heatmap([[1.0]], ["a", "b"], ["c"], "t")
    with pytest.raises(
        DataError, match=r"^row 2 of the heat map has 1 weights but there are 2 col"
    ):
        heatmap([[1.0, 0.0], [1.0]], ["a", "b"], ["c", "d"], "t")

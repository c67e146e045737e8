"""Values with intervals as SVG: where things stand, what is said, what is left out."""

import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.view.svg_charts import (
    WIDTH,
    Mark,
    lines,
    nice_ticks,
    panels,
    points,
    ratio_ticks,
    tick_label,
)

SVG = "{http://www.w3.org/2000/svg}"
NUMBER = st.floats(-1e290, 1e290, allow_nan=False)


def parsed(svg: str) -> ElementTree.Element:
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    return root


def found(root: ElementTree.Element, tag: str, css_class: str = "") -> list[ElementTree.Element]:
    tags = root.iter(f"{SVG}{tag}")
    return [e for e in tags if set(css_class.split()) <= set(e.get("class", "").split())]


def words(root: ElementTree.Element) -> list[str]:
    return [e.text or "" for e in found(root, "text")]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0, 100, [0, 20, 40, 60, 80, 100]),
        (0.3, 3.9, [0, 1, 2, 3, 4]),
        (-1, 1, [-1, -0.5, 0, 0.5, 1]),
        (5, 5, [4.4, 4.6, 4.8, 5, 5.2, 5.4, 5.6]),
        (0, 0, [-1, -0.5, 0, 0.5, 1]),
    ],
)
def test_ticks_are_round(low, high, expected):
    assert nice_ticks(low, high) == pytest.approx(expected)


@given(NUMBER, NUMBER)
def test_ticks_enclose_what_they_measure(first, second):
    low, high = sorted((first, second))
    ticks = nice_ticks(low, high)
    step = ticks[1] - ticks[0]
    assert 2 <= len(ticks) <= 12
    assert ticks[0] <= low + step * 1e-6
    assert ticks[-1] >= high - step * 1e-6


@pytest.mark.parametrize(
    ("value", "step", "label"),
    [
        (0, 0.5, "0"),
        (1.5, 0.5, "1.5"),
        (2, 0.5, "2.0"),
        (0.0015, 0.0005, "0.0015"),
        (0.00003, 0.00001, "3e-5"),
        (40, 20, "40"),
        (1500, 500, "1,500"),
        (12500, 500, "12.5k"),
        (200000, 50000, "200k"),
        (3e6, 1e6, "3M"),
        (-2, 1, "-2"),
        (1e-20, 0.1, "0"),
    ],
)
def test_tick_labels(value, step, label):
    assert tick_label(value, step) == label


def test_values_stand_where_their_axis_says() -> None:
    root = parsed(points({"a": Mark(10, 5, 15), "b": Mark(20)}, "Title", "BLEU"))
    a, b = (float(e.get("cx", "")) for e in found(root, "circle", "dot"))
    [whisker] = found(root, "path", "whisker")
    low, high = map(float, re.match(r"M([\d.]+) [\d.]+H([\d.]+)", whisker.get("d", "")).groups())
    # From 5 to 15 the middle is 10, and 20 is as far again as 15.
    assert (low + high) / 2 == pytest.approx(a, abs=0.1)
    assert b - high == pytest.approx(high - a, abs=0.2)
    assert [w for w in words(root) if w in ("a", "b", "10.00", "20.00", "Title", "BLEU")] == [
        "Title",
        "BLEU",
        "a",
        "10.00",
        "b",
        "20.00",
    ]
    assert [e.text for e in found(root, "title")] == ["a: 10.00 [5.00, 15.00]", "b: 20.00"]


def test_single_values_are_small_circles() -> None:
    root = parsed(points({"a": Mark(2, 1, 3, singles=(1.5, 2.5))}, "T", "x", digits=3))
    assert len(found(root, "circle", "single")) == 2
    assert "2.000" in words(root)


def test_what_is_not_finite_has_a_figure_and_no_point() -> None:
    root = parsed(points({"a": Mark(math.inf), "b": Mark(1.0)}, "T", "x"))
    assert len(found(root, "circle", "dot")) == 1
    assert {"inf", "1.00"} <= set(words(root))


def test_nothing_at_all_is_still_a_picture() -> None:
    assert words(parsed(points({}, "T", "x")))[0] == "T"
    assert words(parsed(lines({}, [], "T", "x")))[0] == "T"


def test_foreign_names_are_escaped_and_long_ones_cut() -> None:
    name = "<b>&" + "x" * 40
    root = parsed(points({name: Mark(1.0)}, "T", "x"))
    shown = next(word for word in words(root) if word.startswith("<b>&"))
    assert len(shown) == 30
    assert shown.endswith("…")
    assert found(root, "title")[0].text == f"{name}: 1.00"


def test_lines_have_gaps_and_a_key_for_each_series() -> None:
    series = {"a": [Mark(1, 0, 2), None, Mark(3), Mark(4)], "b": [Mark(2)] * 4}
    root = parsed(lines(series, ["1–2", "3", "4", "5–9"], "T", "words"))
    strokes = [e.get("d", "") for e in found(root, "path", "line") if "h28" not in e.get("d", "")]
    assert [(d.count("M"), d.count("L")) for d in strokes] == [(2, 1), (1, 3)]
    assert len(found(root, "path", "whisker")) == 1
    assert len(found(root, "path", "dot")) == 3 + 4 + 2  # of values, and of the two keys
    assert {"a", "b", "1–2", "5–9", "words"} <= set(words(root))


def test_points_of_one_place_stand_beside_each_other() -> None:
    series = {name: [Mark(1.0), Mark(2.0)] for name in "abc"}
    root = parsed(lines(series, ["1", "2"], "T", "words"))
    keys = {e.get("transform", "") for e in found(root, "path", "dot")}
    assert len(keys) == 9  # two values and a key each, none on another


def test_many_series_differ_in_colour_or_shape_and_stay_inside() -> None:
    series = {f"a long name, number {i}": [Mark(float(i))] for i in range(12)}
    root = parsed(lines(series, ["1"], "T", "words"))
    keys = found(root, "path", "dot")
    assert len({(e.get("class"), e.get("d")) for e in keys}) == 12
    for word in found(root, "text"):
        assert 0 <= float(word.get("x", "")) < WIDTH


def heights(root: ElementTree.Element) -> list[float]:
    """Of the points of values, keys left out, from top to bottom as they are drawn."""
    groups = [group for group in root.iter(f"{SVG}g") if group.find(f"{SVG}title") is not None]
    places = [found(group, "path", "dot")[0].get("transform", "") for group in groups]
    return [float(place.rstrip(")").split()[1]) for place in places]


def test_equal_ratios_are_equal_ways_on_a_logarithmic_scale() -> None:
    marks = [Mark(0.001), Mark(0.1), Mark(10.0, 1.0, 1000.0), Mark(0.0), Mark(-1.0)]
    root = parsed(lines({"a": marks}, [*"12345"], "T", "x", digits=2, log=True))
    first, second, third = heights(root)  # zero and less have no place, but a line to them
    [stroke] = [e.get("d", "") for e in found(root, "path", "line") if "h28" not in e.get("d", "")]
    assert (stroke.count("M"), stroke.count("L")) == (1, 3)
    bottom = float(re.match(r"M[\d.]+ ([\d.]+)H", found(root, "path", "base")[0].get("d", ""))[1])
    assert float(stroke.split()[-1]) == bottom
    assert first - second == pytest.approx(second - third, abs=0.2)
    shown = {"0.001", "0.01", "0.1", "1", "10", "100", "1,000"}
    assert shown <= set(words(root))
    assert "a, 3: 10 [1, 1e+03]" in [e.text for e in found(root, "title")]


def test_an_interval_that_reaches_zero_ends_at_the_edge() -> None:
    root = parsed(lines({"a": [Mark(0.5, 0.0, 1.0)]}, ["1"], "T", "x", log=True))
    [whisker] = found(root, "path", "whisker")
    low, high = map(float, re.match(r"M[\d.]+ ([\d.]+)V([\d.]+)", whisker.get("d", "")).groups())
    assert low > high


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (3.0, 40.0, [2, 5, 10, 20, 50]),
        (2.0, 50.0, [2, 5, 10, 20, 50]),
        (5.0, 5.0, [5, 10]),
        (1e-8, 1.0, [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1]),
        (1e-20, 3.0, [1e-20, 1e-17, 1e-14, 1e-11, 1e-8, 1e-5, 1e-2, 10]),
    ],
)
def test_ticks_of_ratios_enclose_what_there_is(low, high, expected) -> None:
    assert ratio_ticks(low, high) == pytest.approx(expected)


def test_panels_share_key_and_scale() -> None:
    drawings = {"before": {"a": [Mark(1.0), Mark(2.0)]}, "after": {"a": [Mark(1.0), Mark(9.0)]}}
    root = parsed(panels(drawings, ["1", "2"], "T", "x"))
    assert [w for w in words(root) if w in ("before", "after", "a")] == ["a", "before", "after"]
    first, _, third, last = heights(root)
    grids = sorted(
        float(re.match(r"M[\d.]+ ([\d.]+)H", e.get("d", ""))[1])
        for kind in ("base", "grid")
        for e in found(root, "path", kind)
    )
    between = grids[len(grids) // 2] - grids[0]  # from one drawing down to the next
    assert third - first == pytest.approx(between, abs=0.2)
    assert last < third
    assert words(root).count("1") >= 2  # places stand below both


def test_what_is_below_the_floor_is_not_drawn() -> None:
    series = {"a": [Mark(1.0), Mark(1e-3), Mark(1e-20), Mark(1e-30), Mark(0.5)]}
    root = parsed(panels({"one": series}, [*"12345"], "T", "x", log=True, floor=1e-8))
    assert len(heights(root)) == 3
    assert "10⁻²⁰" not in words(root)
    [stroke] = [e.get("d", "") for e in found(root, "path", "line") if "h28" not in e.get("d", "")]
    assert (stroke.count("M"), stroke.count("L")) == (2, 2)


def test_six_series_differ_in_colour_dash_and_shape() -> None:
    root = parsed(lines({name: [Mark(1.0)] for name in "abcdef"}, ["1"], "T", "x"))
    assert len({e.get("class") for e in found(root, "path", "dot")}) == 6
    assert len({e.get("d") for e in found(root, "path", "dot")}) == 6
    style = next(root.iter(f"{SVG}style")).text or ""
    dashes = re.findall(r"^\.s\d \{[^}]*stroke-dasharray: ([\d ]+);", style, re.MULTILINE)
    assert len(set(dashes)) == len(dashes) == 5  # and the first one is solid
    for number in range(6):
        assert style.count(f"--series-{number}: #") == 2  # light and dark

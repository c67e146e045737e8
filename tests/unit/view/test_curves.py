import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.view.curves import Point, chart, has_values, nice_ticks, thin, tick_label

NUMBER = st.floats(-1e290, 1e290, allow_nan=False)


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


def points(values):
    return [Point(float(i), v, {}) for i, v in enumerate(values)]


def test_few_points_are_not_thinned():
    few = points([1.0, 2.0, 3.0])
    assert thin(few) == few


def test_thinning_keeps_ends_peak_trough_and_gap():
    values = [math.sin(i / 999) for i in range(100_000)]
    values[4321], values[77_777], values[50_000] = 99.0, -99.0, None
    many = points(values)
    kept = thin(many)
    assert len(kept) <= 240 + 3
    assert kept == sorted(kept, key=lambda p: p.x)
    assert kept[0] == many[0]
    assert kept[-1] == many[-1]
    for position in (4321, 77_777, 50_000):
        assert many[position] in kept


def test_series_legend_and_hover(read):
    records = [{"step": i, "minutes": i / 2, "loss": 4.0 - i} for i in range(4)]
    records[3]["valid_loss"] = 1.5
    found = read(chart(records, {"loss": "train", "valid_loss": "valid"}, "Loss"))
    assert len(found.all("path", "line")) == 2 + 1  # two legend keys, one line: valid has one point
    assert len(found.all("circle", "hit")) == 5
    assert "train 4 · step 0 · 0.0 min" in found.words("title")
    assert "valid 1.5 · step 3 · 1.5 min" in found.words("title")
    assert found.words("b") == ["1", "1.5"]  # the last value of each


def test_line_reaches_the_corners_of_its_axes():
    html = chart([{"step": 0, "loss": 0.0}, {"step": 10, "loss": 1.0}], {"loss": "l"}, "t")
    assert 'd="M54.0 210.0L546.0 10.0"' in html


def test_one_point_stands_in_the_middle(read):
    found = read(chart([{"step": 100, "loss": 2.0}], {"loss": "l"}, "t"))
    (dot,) = found.all("circle", "dot")
    assert dot["cx"] == "300.0"
    assert float(dot["cy"]) == pytest.approx(110.0)


def test_missing_values_are_bridged_and_not_finite_ones_are_gaps(read):
    records = [{"step": i, "loss": 1.0} for i in range(9)]
    del records[2]["loss"]
    records[4]["loss"] = None
    bridged = chart(records, {"loss": "l"}, "t")
    assert len(read(bridged).all("path", "line")) == 1 + 1
    records[5]["loss"], records[7]["loss"] = math.nan, math.inf
    broken = chart(records, {"loss": "l"}, "t")
    assert len(read(broken).all("path", "line")) == 1 + 1  # 0-3; 6 and 8 are alone
    assert "2 not finite, left out" in broken
    assert "nan" not in broken.lower()


@pytest.mark.parametrize("records", [[], [{"step": 1}], [{"step": 1, "loss": math.nan}]])
def test_nothing_to_draw(records, read):
    found = read(chart(records, {"loss": "l"}, "t"))
    assert "Nothing was logged." in found.words("p")


def test_a_hundred_thousand_points_make_a_small_picture():
    records = [{"step": i, "loss": math.exp(-i / 1e4)} for i in range(100_000)]
    assert len(chart(records, {"loss": "l"}, "t")) < 60_000


@given(st.lists(st.one_of(st.none(), st.floats(), st.integers(-5, 5)), max_size=12))
def test_any_values_stay_inside_the_drawing(values):
    html = chart([{"step": i, "v": v} for i, v in enumerate(values)], {"v": "v"}, "t")
    for y in re.findall(r'cy="([^"]+)"', html):
        assert 10 <= float(y) <= 210


def test_words_are_escaped():
    html = chart([{"step": 1, "loss": 1.0}], {"loss": "<script>"}, "<script>", x_label="<script>")
    assert "<script" not in html


def test_more_series_than_colours():
    with pytest.raises(ValueError, match="5 series in one chart; expected at most 4"):
        chart([], {k: k for k in "abcde"}, "t")


def test_has_values():
    assert has_values([{"a": 1}], "a")
    assert not has_values([{"a": "x", "b": True, "c": None}], "a")
    assert not has_values([{"b": True, "c": None}], "b")
    assert not has_values([], "a")

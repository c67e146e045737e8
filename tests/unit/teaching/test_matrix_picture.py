"""A matrix as text and as a drawing."""

import math
import re

import pytest

from headway.errors import DataError
from headway.teaching.matrix_picture import matrix_svg, matrix_text

MATRIX = (["my", "ran"], ["down", "x"], [[0, 0.254], [1, math.nan]])


def test_text():
    assert matrix_text(*MATRIX) == (
        "     down     x\n"
        "my      .  0.25\n"
        "ran     1   nan\n"
    )  # fmt: skip
    assert matrix_text(["r"], ["c"], [[0.25]], digits=1) == "     c\nr  0.2\n"


def test_text_in_wide_letters_and_line_breaks():
    assert matrix_text(["三月", "a\nb"], ["é"], [[0.5], [2.0]]) == (
        "         é\n"
        "三月  0.50\n"
        "a⏎b      2\n"
    )  # fmt: skip


def test_nothing_to_show():
    assert matrix_text([], [], []) == "\n"
    assert matrix_text([], ["a"], []) == "  a\n"
    assert matrix_svg([], [], [], "t").endswith("</svg>\n")


def test_drawing(read):
    svg = matrix_svg(*MATRIX, "What <follows>")
    page = read(svg)
    assert page.all("svg")[0]["xmlns"] == "http://www.w3.org/2000/svg"
    cells = [rect for rect in page.all("rect") if "fill-opacity" in rect]
    assert [cell["fill-opacity"] for cell in cells] == ["0.000", "0.254", "1.000", "0.000"]
    assert page.words("text") == ["down", "x", "my", "0.25", "ran", "1", "nan"]
    assert page.words("title") == [
        "What <follows>",
        "my → down: 0.0000",
        "my → x: 0.2540",
        "ran → down: 1.0000",
        "ran → x: nan",
    ]
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")


def test_the_drawing_is_as_large_as_its_labels_and_cells():
    small, large = (
        [float(n) for n in re.findall(r'viewBox="0 0 (\d+) (\d+)"', svg)[0]]
        for svg in (
            matrix_svg(["r"], ["c"], [[1]], "t"),
            matrix_svg(["a longer row"] * 2, ["c"] * 3, [[1] * 3] * 2, "t"),
        )
    )
    assert large[0] - small[0] == pytest.approx(2 * 34 + 11 * 7.6, abs=1)
    assert large[1] - small[1] == pytest.approx(34, abs=1)


@pytest.mark.parametrize("make", [matrix_text, lambda *matrix: matrix_svg(*matrix, "t")])
def test_labels_that_do_not_fit(make):
    with pytest.raises(DataError, match="the matrix has 1 rows of values but 2 row labels"):
        make(["a", "b"], ["c"], [[1]])
    with pytest.raises(DataError, match="row 2 of the matrix has 2 values but there are 1 column"):
        make(["a", "b"], ["c"], [[1], [1, 2]])

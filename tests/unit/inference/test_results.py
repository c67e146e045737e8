"""Outputs of the pieces of a long line, put together."""

from dataclasses import replace

import pytest

from headway.inference.results import join_segments
from headway.inspection.hypothesis import TextHypothesis


def output(text, log_prob, alignment=None, unmet=(), finished=True):
    tokens = text.split()
    values = [log_prob / (len(tokens) + 1)] * (len(tokens) + 1)
    return TextHypothesis(
        text, log_prob, values[0], tokens, values, finished, alignment, list(unmet)
    )


def test_n_th_bests_go_together():
    pieces = [
        [output("a b", -3.0, [1, 0], ["x"]), output("a", -4.0, [2])],
        [output("c", -1.0, [0], finished=False), output("c d", -6.0, [0, 1], ["y"])],
    ]
    first, second = join_segments(pieces, [3, 2])
    assert first == TextHypothesis(
        "a b c", -4.0, -0.75, ["a", "b", "c"], [-1.0] * 3 + [-0.5] * 2, False, [1, 0, 3], ["x"]
    )
    assert second.text == "a c d"
    assert second.alignment == [2, 3, 4], "places are those of the whole line"
    assert second.unmet == ["y"]


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        ((True, True), True),
        ((True, False), False),
        ((False, False), False),
        ((None, None), None),
        ((True, None), None),
    ],
)
def test_a_line_is_proven_if_all_its_pieces_are(parts, whole):
    pieces = [[replace(output("a", -1.0), proven=proven)] for proven in parts]
    assert join_segments(pieces, [1, 1])[0].proven is whole


def test_one_piece_stays_as_it_is():
    only = [output("a", -1.0)]
    assert join_segments([only], [1]) is only
    assert join_segments([only, [output("b", -1.0)]], [1, 1])[0].alignment is None

"""The output of `headway fill`: words, and tokens for invisible words."""

import pytest

from headway.cli.fill import _lines
from headway.inference.masked_lm import FillCandidate, FillResult


@pytest.mark.parametrize(
    ("token", "text", "output"),
    [
        ("▁dog", "dog", "dog"),
        ("▁", "", "▁"),
        ("<0x07>", "\a", "<0x07>"),
        ("<0xC3>", "\ufffd", "<0xC3>"),
        ("\\n", "\n", "\\n"),
    ],
)
def test_fillers_differ_in_the_output(token, text, output):
    filled = FillResult("[MASK]", [[FillCandidate(token, text, 0.25)]])
    assert list(_lines(filled)) == [f"0.250000\t{output}"]

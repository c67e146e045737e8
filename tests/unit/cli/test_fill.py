"""What `headway fill` prints: words as they are written, and what cannot be seen by its name."""

import pytest

from headway.cli.fill import _lines
from headway.inference.masked_lm import FillCandidate, FillResult


@pytest.mark.parametrize(
    ("token", "text", "shown"),
    [
        ("▁dog", "dog", "dog"),
        ("▁", "", "▁"),
        ("<0x07>", "\a", "<0x07>"),
        ("<0xC3>", "\ufffd", "<0xC3>"),
        ("\\n", "\n", "\\n"),
    ],
)
def test_a_filler_can_be_told_from_others(token, text, shown):
    filled = FillResult("[MASK]", [[FillCandidate(token, text, 0.25)]])
    assert list(_lines(filled)) == [f"0.250000\t{shown}"]

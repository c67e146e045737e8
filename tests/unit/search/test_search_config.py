"""What SearchConfig refuses by itself."""

import pytest

from headway.search import SearchConfig


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"beam": 2, "n_best": 3},
            "n_best=3 does not fit beam=2; "
            "n_best lies between 1 and beam: lower n_best or raise beam",
        ),
        (
            {"beam": 0},
            "n_best=1 does not fit beam=0; "
            "n_best lies between 1 and beam: lower n_best or raise beam",
        ),
        ({"alpha": float("nan")}, "alpha=nan is not a finite number; 0 to 1 is usual"),
    ],
)
def test_refusals(settings, message):
    with pytest.raises(ValueError) as caught:
        SearchConfig(**settings)
    assert str(caught.value) == message


def test_n_best_may_be_the_whole_beam():
    assert SearchConfig(beam=3, n_best=3).n_best == 3

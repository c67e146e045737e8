"""What SearchConfig refuses by itself."""

import pytest

from headway.config import parse
from headway.errors import ConfigError
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
        ({"max_ratio": float("inf")}, "max_ratio=inf is not a finite number; 1 to 3 is usual"),
        ({"min_ratio": float("inf")}, "min_ratio=inf is not a finite number; 0 to 1 is usual"),
        (
            {"method": "sample", "temperature": 0.0},
            "temperature=0.0 is not a finite number above 0; for the likeliest token at each step "
            'use method = "beam" with beam = 1',
        ),
        (
            {"temperature": 0.7},
            'temperature=0.7 has no meaning with method="beam"; '
            'set method = "sample" or temperature = 1.0',
        ),
        (
            {"method": "exhaustive", "top_k": 5},
            'top_k=5 has no meaning with method="exhaustive"; set method = "sample" or top_k = 0',
        ),
        (
            {"method": "sample", "max_nodes": 10},
            'max_nodes=10 has no meaning with method="sample"; '
            'set method = "exhaustive" or max_nodes = 100000',
        ),
        (
            {"method": "exhaustive", "no_repeat": 3},
            'no_repeat=3 has no meaning with method="exhaustive"; '
            'set method = "beam" or no_repeat = 0',
        ),
        (
            {"method": "sample", "stop": "safe"},
            'stop=safe has no meaning with method="sample"; '
            'set method = "beam" or stop = "finished"',
        ),
        (
            {"method": "exhaustive", "stop": "safe"},
            'stop=safe has no meaning with method="exhaustive"; '
            'set method = "beam" or stop = "finished"',
        ),
        (
            {"method": "exhaustive", "n_best": 2},
            'n_best=2 does not fit method="exhaustive", which finds one output; '
            'set n_best = 1 or method = "beam"',
        ),
    ],
)
def test_refusals(settings, message):
    with pytest.raises(ValueError) as caught:
        SearchConfig(**settings)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"top_p": 0.0}, "expected a number greater than 0 and of at most 1"),
        ({"top_p": 1.5}, "expected a number greater than 0 and of at most 1"),
        ({"temperature": 0}, "expected a number greater than 0"),
        ({"temperature": float("inf")}, "temperature=inf is not a finite number above 0"),
        ({"no_repeat": -1}, "expected a whole number of at least 0"),
        ({"method": "greedy"}, 'expected one of "beam", "sample", "exhaustive"'),
    ],
)
def test_bounds_hold_where_settings_are_read(settings, message):
    with pytest.raises(ConfigError) as caught:
        parse({"method": "sample", **settings}, SearchConfig, "search")
    assert message in str(caught.value)


def test_n_best_may_be_the_whole_beam():
    assert SearchConfig(beam=3, n_best=3).n_best == 3


def test_samples_are_not_bounded_by_the_beam():
    assert SearchConfig(method="sample", beam=1, n_best=30).n_best == 30


def test_settings_of_the_method_are_taken():
    drawn = SearchConfig(method="sample", temperature=0.7, top_k=5, top_p=0.9, seed=4, no_repeat=3)
    assert (drawn.temperature, drawn.top_k, drawn.top_p, drawn.seed) == (0.7, 5, 0.9, 4)
    assert SearchConfig(method="exhaustive", max_nodes=10).max_nodes == 10
    assert SearchConfig(min_length=2, min_ratio=0.5, no_repeat=3).no_repeat == 3

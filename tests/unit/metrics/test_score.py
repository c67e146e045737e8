"""The record that metrics return."""

import json
from dataclasses import FrozenInstanceError

import pytest

from headway.metrics.score import MOST_DECIMALS, Score, decimals_of


def test_the_fields_for_scripts_leave_out_the_name():
    record = Score("BLEU", 31.5, 30.0, 33.25, "nrefs:1").to_dict()
    assert record == {"value": 31.5, "low": 30.0, "high": 33.25, "signature": "nrefs:1"}
    assert list(record) == ["value", "low", "high", "signature"]  # the order in files


def test_a_score_without_an_interval_has_nulls():
    record = Score("perplexity", 7.0, None, None, "ppl").to_dict()
    assert json.dumps(record) == '{"value": 7.0, "low": null, "high": null, "signature": "ppl"}'


def test_scores_are_values():
    score = Score("TER", 40.0, None, None, "case:lc")
    assert score == Score("TER", 40.0, None, None, "case:lc")
    assert score != Score("TER", 40.0, None, None, "case:mixed")
    with pytest.raises(FrozenInstanceError):
        score.value = 0.0


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.5], 3),
        ([0.5], 3),
        ([0.0123], 4),
        ([120.0, -0.0076], 5),
        ([0.0, float("nan")], 3),
        ([], 3),
        ([1e-20], MOST_DECIMALS),
    ],
)
def test_decimals_of_three_significant_digits(values, expected):
    assert decimals_of(values, 3, 3) == expected
    assert decimals_of(values, 2, 0) == 2

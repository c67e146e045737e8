"""A row of a table of metrics."""

import pytest

from headway.metrics.labels import LABEL_METRICS
from headway.metrics.metric import Metric
from headway.metrics.score import Score
from headway.metrics.text_metrics import TEXT_METRICS
from headway.metrics.values import VALUE_METRICS


def count(outputs, references, **options):
    return Score("count", len(outputs), None, None, f"count|{sorted(options.items())}")


@pytest.mark.parametrize(
    ("row", "passed"),
    [
        (Metric("Count", count, takes_resamples=False), []),
        (Metric("Count", count), [("resamples", 10)]),
        (Metric("Count", count, takes_tokenized=True), [("resamples", 10), ("tokenized", True)]),
    ],
)
def test_a_row_passes_the_options_that_its_function_takes(row, passed):
    score = row(["a"], ["b"], tokenized=True, resamples=10)
    assert score.value == 1
    assert score.signature == f"count|{passed}"


def test_a_name_stands_in_one_table():
    names = [name for table in (TEXT_METRICS, LABEL_METRICS, VALUE_METRICS) for name in table]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("table", "right", "wrong"),
    [(LABEL_METRICS, ["a", "b", "b"], ["b", "a", "a"]), (VALUE_METRICS, [1.0, 2, 4], [4.0, 2, 1])],
)
def test_right_outputs_are_better_than_wrong_ones(table, right, wrong):
    for name, metric in table.items():
        best, worst = metric(right, right).value, metric(wrong, right).value
        assert (best < worst) == metric.lower_is_better, name
        assert best != worst

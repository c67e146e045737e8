"""Metrics of pre-training: values by hand, and the interval that fits."""

import numpy as np
import pytest

from headway.errors import DataError
from headway.metrics.interval import wilson
from headway.metrics.pretraining import restored_loss, restored_share


def test_means_are_over_all_that_is_asked():
    loss = restored_loss("masked", [6.0, 1.0, 0.0], [3, 1, 0])
    assert loss.value == pytest.approx(7 / 4)
    assert (loss.name, loss.signature) == ("masked loss", "nats|per:masked|n:4")
    share = restored_share("masked", [2, 1, 0], [3, 1, 0])
    assert share.value == pytest.approx(75)
    assert (share.name, share.low) == ("masked accuracy", None)
    assert share.signature == "accuracy|of:masked|n:4"


def test_one_question_for_each_example_has_wilsons_interval():
    share = restored_share("next", [1, 0, 1, 0], [1, 1, 1, 0], resamples=10)
    low, high = wilson(2, 3)
    assert (share.low, share.high) == pytest.approx((100 * low, 100 * high))
    assert share.signature == "accuracy|of:next|interval:wilson95|n:3"


def test_questions_of_one_example_go_together():
    """Resampling examples tells what resampling single answers would hide."""
    right, counts = np.array([10] * 10 + [0] * 10), np.full(20, 10)
    share = restored_share("masked", right, counts, resamples=500)
    low, high = wilson(100, 200)
    assert share.low < 100 * low
    assert share.high > 100 * high
    loss = restored_loss("masked", 2.0 * right, counts, resamples=500)
    assert loss.low < loss.value == 1.0 < loss.high
    assert "bootstrap95|bs:500" in loss.signature


def test_data_without_labels_are_refused():
    for score in (restored_loss, restored_share):
        with pytest.raises(DataError, match="nothing to score: the data have no label for 'next'"):
            score("next", [0.0], [0])

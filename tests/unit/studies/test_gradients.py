"""The gradient study: run files, norms relative to the nearest distance, the record."""

import json

import pytest

from headway.studies.gradients import (
    MODELS,
    SIZES,
    GradientSizes,
    Measured,
    make_finding,
    run_file,
)
from headway.view.svg_charts import Mark

SMALL = GradientSizes(distances=(1, 2, 4), seeds=2, n_test=10)
MEASURED = Measured(
    start=[{1: 2.0, 2: 1.0, 4: 1e-12}, {1: 4.0, 2: 3.0, 4: 1e-12}],
    after={1: 1.0, 2: 1.0, 4: 0.25},
    right={1: Mark(1.0), 2: Mark(0.5), 4: Mark(0.0)},
)


@pytest.fixture
def finding(study_run):
    facts = {"seed": 1, "minutes": 1.0}
    return make_finding({"RNN": MEASURED}, {"RNN": study_run}, SMALL, facts)


@pytest.mark.parametrize("name", list(MODELS))
def test_run_files(name):
    config = run_file(name, SIZES, seed=5)
    assert (config.task, config.seed) == ("language", 5)
    assert config.model.d_model == SIZES.d_model
    assert config.train.minutes is config.train.steps is None  # the study's budget


def test_texts_of_training_and_of_the_test_fit():
    # distance, pairs of two words' room, filler before them, and two special tokens
    assert run_file("RNN", SMALL, 1).data.max_length == 112 + 2
    short = GradientSizes(length=10, distances=(1, 50), before=16)
    assert run_file("RNN", short, 1).data.max_length == 50 + 2 * 3 + 16 + 2


def test_norms_are_relative_to_the_nearest_distance(finding):
    start, after, right = (table.rows for table in finding.tables)
    # (1/2 + 3/4) / 2 and (1e-12/2 + 1e-12/4) / 2
    assert start == [["distance", "1", "2", "4"], ["RNN", "1", "0.62", "3.8e-13"]]
    assert after[1] == ["RNN", "1", "1", "0.25"]
    assert right[1] == ["RNN", "100%", "50%", "0%"]


def test_the_picture_shows_the_range_of_seeds_and_leaves_out_what_is_too_small(finding):
    assert "RNN, 2: 0.62 [0.5, 0.75]" in finding.picture
    assert "RNN, 4: 0.25" in finding.picture  # one trained model, no range
    assert "e-13" not in finding.picture


def test_the_record_holds_norms_as_measured(finding):
    [row] = json.loads(json.dumps(finding.to_dict()))["rows"]
    assert row["start"][1] == {"1": 4.0, "2": 3.0, "4": 1e-12}
    assert row["after"] == {"1": 1.0, "2": 1.0, "4": 0.25}
    assert row["right"] == {"1": 1.0, "2": 0.5, "4": 0.0}
    assert (row["run"], row["steps"]) == ("runs/rnn", 7)

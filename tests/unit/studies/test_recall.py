"""The recall study: run files, right answers, and the tables and picture of the result."""

import pytest

from headway.studies.lookup import LookUp
from headway.studies.recall import (
    MODELS,
    SIZES,
    RecallSizes,
    make_finding,
    run_file,
    share_right,
)
from headway.view.svg_charts import Mark

SMALL = RecallSizes(trained=(8, 16), within=(8, 16), beyond=(32,), n_test=10)
SHARES = {"GRU": {8: Mark(1.0, 0.7, 1.0), 16: Mark(0.5, 0.2, 0.8), 32: Mark(0.0, 0.0, 0.3)}}


@pytest.fixture
def finding(study_run):
    return make_finding(SHARES, {"GRU": study_run}, SMALL, {"seed": 1, "minutes": 1.5})


@pytest.mark.parametrize("name", list(MODELS))
def test_run_files(name):
    config = run_file(name, SIZES, seed=5)
    assert (config.seed, config.data.root) == (5, "data-seed5")
    assert config.model.d_model == SIZES.d_model
    assert config.train.minutes is config.train.steps is None  # the study's budget
    assert config.search.beam == 1


def test_encoders_read_one_way_so_that_the_distance_is_that_of_the_words():
    recurrent = [run_file(name, SIZES, 1).model for name in MODELS if name != "Transformer"]
    assert len(recurrent) == 4
    assert not any(model.bidirectional for model in recurrent)


def test_the_longest_question_fits_the_longest_distance():
    assert SMALL.longest == 32 + 3 + 1
    assert run_file("GRU", SMALL, 1).data.max_length == 36


def test_only_the_right_word_alone_is_right():
    class Translator:
        def translate(self, sources):
            class Output:
                def __init__(self, text):
                    self.text = text

            return [Output(text) for text in ("3", "3 3", "4", "")]

    examples = [LookUp(("a3", "a"), "3", 1)] * 4
    mark = share_right(Translator(), examples)
    assert mark.value == 0.25
    # Wilson's interval of 1 in 4
    assert (mark.low, mark.high) == pytest.approx((0.0456, 0.6994), abs=1e-4)


def test_longer_distances_have_their_own_table(finding):
    within, beyond, costs = (table.rows for table in finding.tables)
    assert within == [
        ["distance", "8", "16"],
        ["GRU", "100.0 [70.0, 100.0]", "50.0 [20.0, 80.0]"],
    ]
    assert beyond == [["distance", "32"], ["GRU", "0.0 [0.0, 30.0]"]]
    assert costs == [["model", "parameters", "updates", "minutes"], ["GRU", "1,234", "7", "1.5"]]


def test_the_record_holds_shares_by_distance(finding):
    [row] = finding.to_dict()["rows"]
    assert row["beyond"] == {"32": {"value": 0.0, "low": 0.0, "high": 0.3}}
    assert row["within"]["16"] == {"value": 0.5, "low": 0.2, "high": 0.8}
    assert row["steps"] == 7


def test_the_line_of_the_picture_ends_where_training_ended(finding):
    lines = [line for line in finding.picture.splitlines() if 'class="line' in line]
    assert [line.count("L") for line in lines if "h28" not in line] == [1]

"""The summary of a run: positions by hand, facts, durations, the newest values of a log."""

import numpy as np
import pytest

from headway.inspection.run_summary import (
    duration,
    last_logged,
    positions_of,
    summarize_run,
    summary_rows,
)
from headway.models import FAMILIES, VocabularySizes


def built(family, **settings):
    sizes = VocabularySizes(9, 9, shared=True)
    config = FAMILIES[family].config(d_model=8, **settings).resolve(10, sizes)
    return FAMILIES[family].build(config, sizes)


def test_positions():
    sines = positions_of(built("transformer", d_ff=8, n_heads=2, position_base=100.0))
    assert (sines["kind"], sines["base"], sines["target"]) == ("sinusoidal", 100.0, None)
    assert sines["table"].shape == (64, 8)
    np.testing.assert_allclose(sines["table"][0], [0, 1] * 4, atol=1e-7)
    products = sines["table"] @ sines["table"].T
    np.testing.assert_allclose(np.diag(products), 4.0, rtol=1e-5)
    model = built("transformer", d_ff=8, n_heads=2, positions="learned", max_positions=10)
    learned = positions_of(model)
    np.testing.assert_array_equal(learned["table"], model.positions.weight.detach())
    np.testing.assert_array_equal(learned["target"], model.target_positions.weight.detach())
    rotary = positions_of(built("transformer", d_ff=8, n_heads=2, positions="rotary"))
    assert (rotary["kind"], rotary["base"]) == ("rotary", 10000.0)
    assert rotary["table"].shape == (64, 4), "of the width of a head"
    relative = positions_of(built("transformer", d_ff=8, n_heads=2, positions="relative"))
    assert (relative["kind"], relative["table"]) == ("relative", None)
    nothing = positions_of(built("decoder", d_ff=8, n_heads=2, positions="none"))
    assert (nothing["kind"], nothing["table"]) == ("none", None)
    assert positions_of(built("recurrent")) is None


def test_facts_of_a_run_without_weights(translator):
    shown = dict(summary_rows(translator.config, [{"step": 7, "minutes": 2.0}], None, None))
    assert shown["Steps"] == "7"
    assert shown["Training time"] == "2 min 0 s"
    assert "Weights" not in shown
    assert "Parameters" not in shown


@pytest.mark.parametrize(
    ("minutes", "words"),
    [(0.0, "0 s"), (0.8, "48 s"), (2.68, "2 min 41 s"), (59.999, "1 h 0 min"), (65.2, "1 h 5 min")],
)
def test_durations(minutes: float, words: str) -> None:
    assert duration(minutes) == words


def test_facts_of_a_finished_run(translator):
    records = [
        {"step": 1, "examples": {"train": 1800, "valid": 20}},
        {"step": 1234, "minutes": 65.2},
    ]
    rule = {"rule": "best", "step": "1200"}
    facts = dict(summary_rows(translator.config, records, 4321, rule))
    assert list(facts) == [
        "Task",
        "Model",
        "Parameters",
        "Training examples",
        "Validation examples",
        "Seed",
        "Steps",
        "Training time",
        "Weights",
    ]
    assert facts["Parameters"] == "4,321"
    assert facts["Training examples"] == "1,800"
    assert (facts["Steps"], facts["Training time"]) == ("1,234", "1 h 5 min")
    assert facts["Weights"] == "best (step 1,200)"


def test_the_newest_value_of_the_log_counts():
    records = [{"step": 1, "loss": 3.0}, {"step": 2, "loss": None}, {"step": 3}]
    assert last_logged(records, "step") == 3
    assert last_logged(records, "loss", 7.0) is None, "a value of the log, even an empty one"
    assert last_logged(records, "minutes", 0.0) == 0.0
    assert last_logged([], "step") is None


def test_a_summary_has_name_facts_positions_and_log(translator):
    summary = summarize_run(
        translator.run, translator.config, translator.model, 99, translator.weights_info
    )
    assert (summary.run["name"], summary.run["family"]) == ("pre", "transformer")
    assert summary.run["parameters"] == 99
    assert ["Parameters", "99"] in summary.run["facts"]
    assert summary.positions["kind"] == "sinusoidal"
    assert summary.rows[-1]["step"] == 80

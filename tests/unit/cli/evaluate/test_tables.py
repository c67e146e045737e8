"""The report of `headway evaluate`: the table of metrics, the weights, the file of outputs."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from headway.cli.evaluate.tables import (
    metric_lines,
    report_lines,
    weight_lines,
    weights_record,
    write_outputs,
)
from headway.errors import RunError
from headway.inference.evaluation import EvaluationReport
from headway.metrics.score import Score

BLEU = Score("BLEU", 31.4159, 30.0, 32.5, "bleu|n:8")
LOSS = Score("loss", 1.5, None, None, "loss|n:8")


def loaded(path: str, step: str, members=()):
    """The part of a trained model or an ensemble member that the report uses."""
    info = {"rule": "best by bleu", "step": step}
    return SimpleNamespace(
        run=SimpleNamespace(path=Path(path)), weights_info=info, ensemble_members=members
    )


def test_columns_are_aligned_with_and_without_an_interval():
    head, bleu, loss = metric_lines({"bleu": BLEU, "loss": LOSS})
    assert head == "metric         value  95% interval      signature"
    assert bleu == "BLEU           31.42  [30.00, 32.50]    bleu|n:8"
    assert loss == "loss            1.50                    loss|n:8"


def test_width_and_digits():
    long = Score("unanswered exact", 50.0, None, None, "exact|n:8")
    head, loss, exact = metric_lines({"loss": LOSS, "unanswered_exact": long}, digits=4)
    assert head == "metric               value  95% interval          signature"
    assert loss == "loss                1.5000                        loss|n:8"
    assert exact == "unanswered exact   50.0000                        exact|n:8"


def test_small_scores_have_significant_digits():
    small = Score("MSE", 0.00763, 0.0072041, 0.0080, "mse")
    head, mse, mae = metric_lines({"mse": small, "mae": Score("MAE", 12.5, 9.0, 20.0, "mae")}, 3, 3)
    assert head == "metric          value  95% interval        signature"
    assert mse == "MSE           0.00763  [0.00720, 0.00800]  mse"
    assert mae == "MAE            12.500  [9.000, 20.000]     mae"
    _, mse = metric_lines({"mse": small})
    assert mse == "MSE             0.01  [0.01, 0.01]      mse"


def test_the_weights_of_a_run_and_of_an_ensemble():
    assert weights_record(loaded("run", "40")) == {"weights": {"rule": "best by bleu", "step": 40}}
    record = weights_record(loaded("run", "40", [loaded("runs/other", "8")]))
    assert record["with"] == [{"run": "runs/other", "rule": "best by bleu", "step": 8}]
    assert list(weight_lines("8 lines, beam 1", record)) == [
        "8 lines, beam 1; weights: best by bleu, step 40",
        "with runs/other; weights: best by bleu, step 8",
    ]


def test_notes_follow_the_table_and_remarks_the_weights():
    report = EvaluationReport(
        {"bleu": BLEU}, {"n": 8}, "8 lines", notes=["a note"], remarks=["a remark"]
    )
    lines = list(report_lines(report, weights_record(loaded("run", "40"))))
    assert lines[2:] == ["a note", "", "8 lines; weights: best by bleu, step 40", "a remark"]


def test_outputs_are_lines_of_utf8(tmp_path):
    write_outputs(None, ["not written"])
    write_outputs(tmp_path / "out", ["naïve", ""])
    assert (tmp_path / "out").read_bytes() == "naïve\n\n".encode()
    with pytest.raises(RunError, match=r"^--outputs .+ cannot be written: Is a directory; name"):
        write_outputs(tmp_path, ["text"])

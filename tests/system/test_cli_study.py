"""`headway study` as a user runs it, with studies so small that they take seconds."""

import json
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest
from cli_workdir import commands_in
from quick_plans import plan_few_updates

from headway.studies import gradients, recall, steps

SIZES = {
    gradients: gradients.GradientSizes(20, (1, 4), 2, 2, 10, n_train=60, n_valid=4, d_model=8),
    recall: recall.RecallSizes((8, 9), (8, 9), (12,), 60, n_valid=4, n_test=10, d_model=8),
    steps: steps.StepSizes((4, 8), 16, d_model=8, vocabulary=20, rounds=2),
}
BUDGET = ("--minutes", "0.01")


@pytest.fixture
def workdir(tmp_path):
    with commands_in(tmp_path):
        yield tmp_path


@pytest.fixture
def study(headway, monkeypatch):
    """Runs a small `headway study`: exit code, standard output, standard error."""
    plan_few_updates(monkeypatch)
    for module, sizes in SIZES.items():
        monkeypatch.setattr(module, "SIZES", sizes)
    return partial(headway, "study")


def test_recall_is_measured_and_nothing_is_trained_twice(study):
    code, stdout, _ = study("recall", *BUDGET)
    assert code == 0
    assert "Longer than any in training:" in stdout
    assert "written: runs/study-recall/recall.md, .json and .svg\n" in stdout
    folder = Path("runs/study-recall")
    assert {path.name for path in folder.glob("recall.*")} == {
        "recall.json",
        "recall.md",
        "recall.svg",
    }
    weights = {path: path.stat().st_mtime_ns for path in folder.glob("runs/*/model.safetensors")}
    assert len(weights) == len(recall.MODELS)

    code, stdout, stderr = study("recall", *BUDGET, "--json")
    assert code == 0
    assert {path: path.stat().st_mtime_ns for path in weights} == weights
    assert "run 5 of 5: transformer, seed 1: finished before\n" in stderr
    record = json.loads(stdout)
    assert record == json.loads((folder / "recall.json").read_text())
    assert (record["study"], record["minutes"]) == ("recall", 0.01)
    for row in record["rows"]:
        assert row["steps"] >= 1
        assert set(row["within"]) == {"8", "9"}
        mark = row["beyond"]["12"]
        assert 0 <= mark["low"] <= mark["value"] <= mark["high"] <= 1

    code, stdout, stderr = study("recall", "--minutes", "0.02")  # other runs than those there
    assert (code, stdout) == (1, "")
    assert "was made with other settings: train.minutes was 0.01 and is 0.02" in stderr


def test_gradients_at_the_start_and_after_training(study):
    code, stdout, _ = study("gradients", *BUDGET, "--json", "--out", "here")
    assert code == 0
    record = json.loads(stdout)
    assert [row["name"] for row in record["rows"]] == ["RNN", "GRU", "LSTM", "Transformer"]
    for row in record["rows"]:
        assert [set(norms) for norms in (*row["start"], row["after"])] == [{"1", "4"}] * 3
        assert all(norm > 0 for norms in row["start"] for norm in norms.values())
        assert row["start"][0] != row["start"][1]
    rnn, *_, transformer = ([n["4"] / n["1"] for n in row["start"]] for row in record["rows"])
    assert max(rnn) < min(transformer)  # already over four words
    root = ElementTree.parse("here/gradients.svg").getroot()
    assert {"RNN", "Transformer", "At the start"} <= set(root.itertext())
    assert "(gradients.svg)" in Path("here/gradients.md").read_text()


def test_steps_are_timed(study):
    code, stdout, _ = study("steps", "--threads", "1")
    assert code == 0
    lines = [line.split() for line in stdout.splitlines()]
    assert ["ms", "per", "update", "length", "4", "length", "8", "8", "/", "4"] in lines
    assert Path("runs/study-steps/steps.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["gradient"], 2, "no study 'gradient'; did you mean gradients? expected one of"),
        (["recall", "--minutes", "0"], 2, "a budget of 0 minutes: expected a number above 0"),
        (["recall", "--minutes", "-1"], 2, "a budget of -1 minutes: expected a number above 0"),
        (["steps", "--minutes", "1"], 2, "the study steps trains nothing and has no minutes"),
        (["steps", "--seed", "-1"], 2, "Invalid value for '--seed'"),
        (["steps", "--out", "file"], 1, "--out file is a file; name a folder"),
        ([], 2, "Missing argument 'NAME'"),
    ],
)
def test_complaints(study, arguments, code, message):
    Path("file").write_text("mine")
    exit_code, stdout, stderr = study(*arguments)
    assert (exit_code, stdout) == (code, "")
    assert message in stderr
    assert stderr.count("\n") == 1
    assert Path("file").read_text() == "mine"

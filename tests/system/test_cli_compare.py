"""`headway compare` as a user runs it, with run files that train in a moment."""

import json
import signal
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from cli_workdir import TRANSFORMER, commands_in, run_file

from headway.runs import RunDir
from headway.training import loop

WORDS = ("one", "two", "three", "four")
STEPS = ("--steps", "6")


def with_layers(decoder_layers):
    return run_file(
        {name: f"{name}.tsv" for name in ("train", "valid", "test")},
        TRANSFORMER | {"decoder_layers": decoder_layers},
        train={"steps": 500, "evaluate_every": 4, "lr": 0.01},
        search={"max_length": 8},
    )


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    """The current folder of commands, with data and run files."""
    folder = tmp_path_factory.mktemp("compare")
    pairs = [[a, b, c, "end"] for a in WORDS for b in WORDS for c in WORDS[:2]]
    sets = {"train": pairs[8:20], "valid": pairs[:4], "test": [*pairs[4:8], ["one"], ["two"] * 6]}
    for name, rows in sets.items():
        lines = (f"{' '.join(row)}\t{' '.join(row[::-1])}\n" for row in rows)
        (folder / f"{name}.tsv").write_text("".join(lines))
    (folder / "flat.toml").write_text(with_layers(1))
    (folder / "deep.toml").write_text(with_layers(2))
    (folder / "typo.toml").write_text(with_layers("two"))
    with commands_in(folder):
        yield folder


@pytest.fixture
def compare(headway):
    """Runs `headway compare`: exit code, standard output, standard error."""
    return partial(headway, "compare")


def contents(folder):
    """Everything that training writes, with its time."""
    paths = sorted(Path(folder).glob("*-seed*/**/*"))
    return {path: path.stat().st_mtime_ns for path in paths if path.name != "lock"}


def test_one_table_and_nothing_is_trained_twice(compare):
    code, table, stderr = compare("flat.toml", "deep.toml", *STEPS)
    assert code == 0
    assert "run 1 of 2: flat, seed 1: training into runs/compare/flat-seed1\n" in stderr
    assert "scoring 2 of 2: deep, seed 1\n" in stderr
    summary, _, head, *rows = table.splitlines()[:5]
    assert summary == ("BLEU on the test set (6 inputs), more is better; budget: 6 updates each")
    assert head.split()[:4] == ["run", "BLEU", "95%", "parameters"]
    assert {row.split()[0] for row in rows} == {"flat", "deep"}
    before = contents("runs/compare")
    assert len(before) > 10

    code, stdout, stderr = compare("flat.toml", "deep.toml", *STEPS, "--json")
    assert code == 0
    assert contents("runs/compare") == before
    assert "run 2 of 2: deep, seed 1: finished before\n" in stderr
    record = json.loads(stdout)
    assert record == json.loads(Path("runs/compare/compare.json").read_text())
    by_name = {row["name"]: row for row in record["rows"]}
    assert by_name["deep"]["parameters"] > by_name["flat"]["parameters"] > 1000
    for row in by_name.values():
        [run] = row["runs"]
        assert 0 <= run["score"]["low"] <= run["score"]["value"] <= run["score"]["high"]
        assert 0 < row["minutes_to_best"] <= row["minutes"]
        assert row["train_tokens_per_second"] > 0
        assert row["decode_per_second"] > 0


def test_the_score_is_that_of_evaluate(compare, headway):
    code, stdout, _ = compare("deep.toml", *STEPS, "--json", "--out", "alone")
    assert code == 0
    evaluate = ("evaluate", "alone/deep-seed1", "--json", "--metric", "bleu")
    expected = json.loads(headway(*evaluate)[1])["metrics"]["bleu"]
    assert json.loads(stdout)["rows"][0]["runs"][0]["score"] == expected

    code, stdout, _ = compare("deep.toml", *STEPS, "--out", "alone", "--tokenized", "--json")
    assert code == 0
    expected = json.loads(headway(*evaluate, "--tokenized")[1])["metrics"]["bleu"]
    assert "|tok:none|" in expected["signature"]
    assert json.loads(stdout)["rows"][0]["runs"][0]["score"] == expected


def test_seeds_and_lengths_add_to_what_is_there(compare):
    assert compare("flat.toml", *STEPS, "--out", "more")[0] == 0
    first = Path("more/flat-seed1/model.safetensors").stat().st_mtime_ns
    code, table, _ = compare(
        "flat.toml", "deep.toml", *STEPS, "--out", "more", "--seeds", "2", "--by-length",
        "--edges", "1,4",
    )  # fmt: skip
    assert code == 0
    assert Path("more/flat-seed1/model.safetensors").stat().st_mtime_ns == first
    assert "; 2 seeds each" in table
    lines = [line.split() for line in table.splitlines()]
    assert ["by", "words", "1", "2–4", "5–6"] in lines
    assert ["inputs", "1", "4", "1"] in lines
    for name in ("compare.svg", "by-length.svg"):
        root = ElementTree.parse(Path("more", name)).getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert {"flat", "deep"} <= set(root.itertext())
    page = Path("more/compare.md").read_text()
    assert "| run | BLEU | 95% | seeds | parameters |" in page
    assert "(by-length.svg)" in page


def test_a_run_that_was_stopped_goes_on(compare, monkeypatch):
    assert compare("flat.toml", *STEPS, "--out", "whole")[0] == 0
    real = loop.learning_rate

    def stop(schedule, peak, step, warmup, total):
        if step == 3:
            signal.raise_signal(signal.SIGINT)
        return real(schedule, peak, step, warmup, total)

    with monkeypatch.context() as patch:
        patch.setattr(loop, "learning_rate", stop)
        code, stdout, stderr = compare("flat.toml", "deep.toml", *STEPS, "--out", "broken")
    assert (code, stdout) == (130, "")
    last = stderr.splitlines()[-1].removeprefix("headway: error: ")
    assert last == "stopped; trained runs are kept in broken; the same command continues"
    assert not Path("broken/deep-seed1").exists()
    assert Path("broken/flat-seed1/checkpoints/step-3").exists()

    code, _, stderr = compare("flat.toml", "deep.toml", *STEPS, "--out", "broken")
    assert code == 0
    assert "run 1 of 2: flat, seed 1: resuming in broken/flat-seed1\n" in stderr
    assert "continuing after step 3 of 6" in stderr
    whole, resumed = (RunDir.open(f"{o}/flat-seed1").load_weights()[0] for o in ("whole", "broken"))
    assert whole.keys() == resumed.keys()
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


def test_one_failure_does_not_stop_the_others(compare):
    code, table, stderr = compare("typo.toml", "flat.toml", *STEPS, "--out", "some")
    assert code == 1
    assert stderr.splitlines()[-1] == (
        "headway: error: 1 of 2 runs failed; the table has the reasons"
    )
    rows = [line.split() for line in table.splitlines()]
    assert ["typo", "failed", *"-------"] in rows
    assert rows[3][0] == "flat"
    assert "failed: typo: typo.toml: model.decoder_layers" in table


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--minutes", "1", *STEPS], 2, "a budget of 1 minutes and one of 6 steps: give minutes"),
        (["--edges", "3"], 2, "--edges 3 needs --by-length; add it or leave --edges out"),
        (["--by-length", "--edges", "3,x"], 2, "--edges 3,x: expected whole numbers with commas"),
        (["--by-length", "--edges", "3,2"], 2, "edges 3,2: expected rising whole numbers"),
        (["--seeds", "0"], 2, "Invalid value for '--seeds'"),
        (["--steps", "7", "--out", "alone2"], 1, "train.steps was 6 and is 7; give another --out"),
    ],
)
def test_complaints(compare, arguments, code, message):
    if "alone2" in arguments:
        assert compare("flat.toml", *STEPS, "--out", "alone2")[0] == 0
    exit_code, stdout, stderr = compare("flat.toml", *arguments)
    assert (exit_code, stdout) == (code, "")
    assert message in stderr
    assert stderr.count("\n") == 1

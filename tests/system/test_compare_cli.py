"""`headway compare` as a user runs it, with run files that train in a moment."""

import json
import signal
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from cli_place import commands_in

from headway.cli import main
from headway.runs import RunDir
from headway.training import fit

WORDS = ("one", "two", "three", "four")
RUN_FILE = """
[data]
train = "train.tsv"
valid = "valid.tsv"
test = "test.tsv"

[text]
kind = "words"

[model]
d_model = 16
d_ff = 16
n_heads = 2
encoder_layers = 1
decoder_layers = LAYERS

[train]
steps = 500
evaluate_every = 4
lr = 0.01

[search]
max_length = 8
"""
STEPS = ("--steps", "6")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with data and run files, where the commands are given."""
    folder = tmp_path_factory.mktemp("place")
    pairs = [[a, b, c, "end"] for a in WORDS for b in WORDS for c in WORDS[:2]]
    sets = {"train": pairs[8:20], "valid": pairs[:4], "test": [*pairs[4:8], ["one"], ["two"] * 6]}
    for name, rows in sets.items():
        lines = (f"{' '.join(row)}\t{' '.join(row[::-1])}\n" for row in rows)
        (folder / f"{name}.tsv").write_text("".join(lines))
    (folder / "flat.toml").write_text(RUN_FILE.replace("LAYERS", "1"))
    (folder / "deep.toml").write_text(RUN_FILE.replace("LAYERS", "2"))
    (folder / "typo.toml").write_text(RUN_FILE.replace("LAYERS", '"two"'))
    with commands_in(folder):
        yield folder


@pytest.fixture
def compare(place, capsys):
    """The exit code of a command, what it prints, and what it says beside it."""

    def run(*arguments):
        capsys.readouterr()
        code = main(["compare", *arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def contents(folder):
    """Everything that training writes, with its time."""
    paths = sorted(Path(folder).glob("*-seed*/**/*"))
    return {path: path.stat().st_mtime_ns for path in paths if path.name != "lock"}


def test_one_table_and_nothing_is_trained_twice(compare):
    code, table, said = compare("flat.toml", "deep.toml", *STEPS)
    assert code == 0
    assert "run 1 of 2: flat, seed 1: training into runs/compare/flat-seed1\n" in said
    assert "scoring 2 of 2: deep, seed 1\n" in said
    summary, _, head, *rows = table.splitlines()[:5]
    assert summary == ("BLEU on the test set (6 inputs), more is better; budget: 6 updates each")
    assert head.split()[:4] == ["run", "BLEU", "95%", "parameters"]
    assert {row.split()[0] for row in rows} == {"flat", "deep"}
    before = contents("runs/compare")
    assert len(before) > 10

    code, printed, said = compare("flat.toml", "deep.toml", *STEPS, "--json")
    assert code == 0
    assert contents("runs/compare") == before
    assert "run 2 of 2: deep, seed 1: finished before\n" in said
    record = json.loads(printed)
    assert record == json.loads(Path("runs/compare/compare.json").read_text())
    by_name = {row["name"]: row for row in record["rows"]}
    assert by_name["deep"]["parameters"] > by_name["flat"]["parameters"] > 1000
    for row in by_name.values():
        [run] = row["runs"]
        assert 0 <= run["score"]["low"] <= run["score"]["value"] <= run["score"]["high"]
        assert 0 < row["minutes_to_best"] <= row["minutes"]
        assert row["train_tokens_per_second"] > 0
        assert row["decode_per_second"] > 0


def test_the_score_is_that_of_evaluate(compare, capsys):
    code, printed, _ = compare("deep.toml", *STEPS, "--json", "--out", "alone")
    assert code == 0
    assert main(["evaluate", "alone/deep-seed1", "--json", "--metric", "bleu"]) == 0
    expected = json.loads(capsys.readouterr().out)["metrics"]["bleu"]
    assert json.loads(printed)["rows"][0]["runs"][0]["score"] == expected

    code, printed, _ = compare("deep.toml", *STEPS, "--out", "alone", "--tokenized", "--json")
    assert code == 0
    assert main(["evaluate", "alone/deep-seed1", "--json", "--metric", "bleu", "--tokenized"]) == 0
    expected = json.loads(capsys.readouterr().out)["metrics"]["bleu"]
    assert "|tok:none|" in expected["signature"]
    assert json.loads(printed)["rows"][0]["runs"][0]["score"] == expected


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
    real = fit.learning_rate

    def stop(schedule, peak, step, warmup, total):
        if step == 3:
            signal.raise_signal(signal.SIGINT)
        return real(schedule, peak, step, warmup, total)

    with monkeypatch.context() as patch:
        patch.setattr(fit, "learning_rate", stop)
        code, printed, said = compare("flat.toml", "deep.toml", *STEPS, "--out", "broken")
    assert (code, printed) == (130, "")
    last = said.splitlines()[-1].removeprefix("headway: error: ")
    assert last == "stopped; what was trained is kept in broken, and the same command goes on"
    assert not Path("broken/deep-seed1").exists()
    assert Path("broken/flat-seed1/checkpoints/step-3").exists()

    code, _, said = compare("flat.toml", "deep.toml", *STEPS, "--out", "broken")
    assert code == 0
    assert "run 1 of 2: flat, seed 1: going on in broken/flat-seed1\n" in said
    assert "going on after step 3 of 6" in said
    whole, resumed = (RunDir.open(f"{o}/flat-seed1").load_weights()[0] for o in ("whole", "broken"))
    assert whole.keys() == resumed.keys()
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


def test_one_failure_does_not_stop_the_others(compare):
    code, table, said = compare("typo.toml", "flat.toml", *STEPS, "--out", "some")
    assert code == 1
    assert said.splitlines()[-1] == ("headway: error: 1 of 2 runs failed; the table says why")
    rows = [line.split() for line in table.splitlines()]
    assert ["typo", "failed", *"-------"] in rows
    assert rows[3][0] == "flat"
    assert "failed: typo: typo.toml: model.decoder_layers" in table


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--minutes", "1", *STEPS], 2, "a budget of 1 minutes and one of 6 steps: give minutes"),
        (["--edges", "3"], 2, "--edges 3 goes with --by-length; add it or leave --edges out"),
        (["--by-length", "--edges", "3,x"], 2, "--edges 3,x: expected whole numbers with commas"),
        (["--by-length", "--edges", "3,2"], 2, "edges 3,2: expected rising whole numbers"),
        (["--seeds", "0"], 2, "Invalid value for '--seeds'"),
        (["--steps", "7", "--out", "alone2"], 1, "train.steps was 6 and is 7; give another --out"),
    ],
)
def test_complaints(compare, arguments, code, message):
    if "alone2" in arguments:
        assert compare("flat.toml", *STEPS, "--out", "alone2")[0] == 0
    given, printed, said = compare("flat.toml", *arguments)
    assert (given, printed) == (code, "")
    assert message in said
    assert said.count("\n") == 1

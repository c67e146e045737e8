"""`headway search-report` as a user runs it, on a run that has seen a few examples."""

import json

import pytest
from cli_place import commands_in

from headway.cli import main

WORDS = ("one", "two", "three", "four")
RUN_FILE = """
[data]
train = { source = "train.src", target = "train.tgt" }
test = "test.tsv"

[text]
kind = "words"

[model]
d_model = 16
d_ff = 16
n_heads = 2
encoder_layers = 1
decoder_layers = 1

[train]
steps = 15
evaluate_every = 15
lr = 0.01

[search]
max_length = 4
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a run, where the commands are given."""
    folder = tmp_path_factory.mktemp("place")
    pairs = [(f"{a} {b}", f"{b} {a}") for a in WORDS for b in WORDS]
    (folder / "train.src").write_text("".join(f"{source}\n" for source, _ in pairs))
    (folder / "train.tgt").write_text("".join(f"{target}\n" for _, target in pairs))
    rows = [*pairs[:3], ("one two", "one two")]
    (folder / "test.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in rows))
    (folder / "run.toml").write_text(RUN_FILE)
    with commands_in(folder):
        assert main(["train", "run.toml", "--out", "run"]) == 0
        yield folder


@pytest.fixture
def report(place, capsys):
    """What a command prints, its exit code and its complaint."""

    def run(*arguments):
        capsys.readouterr()
        code = main(["search-report", *arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err.removeprefix("headway: error: ").strip()

    return run


def test_the_test_set_of_the_run(report):
    code, printed, _ = report("run", "--beams", "1,3")
    assert code == 0
    summary, _, head, *rows = printed.splitlines()
    assert summary.startswith("4 inputs, alpha 1: the argmax is proven for 4 (100.0%), in ")
    assert head.split()[:4] == ["beam", "found", "missed", "open"]
    assert [row.split()[0] for row in rows[:3]] == ["1", "3", "argmax"]


def test_json_grouped_and_limited(report):
    code, printed, _ = report("run", "--json", "--group", "--beams", "2", "--alpha", "0")
    assert code == 0
    record = json.loads(printed)
    assert (record["run"], record["n"], record["alpha"]) == ("run", 3, 0.0)
    assert record["sentences"][1]["references"] == ["two one", "one two"]
    [figures] = record["beams"]
    assert figures["found"] + figures["missed"] + figures["open"] == 3
    code, printed, _ = report("run", "--json", "--limit", "2", "--max-nodes", "1")
    record = json.loads(printed)
    assert (record["n"], record["max_nodes"]) == (2, 1)
    assert [row["nodes"] <= 1 for row in record["sentences"]] == [True, True]


def test_inputs_without_answers(report):
    code, printed, _ = report("run", "--source", "train.src", "--limit", "5", "--markdown")
    assert code == 0
    assert printed.startswith("5 inputs, ")
    assert "| beam | found | missed | open | score lost | most | log p lost |\n" in printed
    assert "lucky" not in printed


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--beams", "1,x"], 2, "--beams 1,x: expected whole numbers with commas, such as 1,2,5"),
        (["--beams", "5,5"], 2, "beams 5, 5: expected different whole numbers of at least 1"),
        (["--alpha", "nan"], 2, "alpha"),
        (["--source", "train.src", "--group"], 2, "--group goes with --target; --source alone is"),
        (["--source", "train.src", "--format", "tsv"], 2, "--format goes with --data; --source"),
        (["--target", "train.tgt"], 2, "--source is missing: give --source and --target together"),
        (["--source", "nowhere.src"], 1, "nowhere.src"),
        (["--max-nodes", "0"], 2, "Invalid value for '--max-nodes'"),
    ],
)
def test_complaints(report, arguments, code, message):
    given, printed, complaint = report("run", *arguments)
    assert (given, printed) == (code, "")
    assert message in complaint
    assert complaint.count("\n") == 0


def test_progress_of_a_long_set_goes_to_standard_error(report, monkeypatch):
    monkeypatch.setattr("headway.cli.search_report.SECONDS", 0.0)
    code, printed, progress = report("run", "--json", "--beams", "1")
    assert code == 0
    assert json.loads(printed)["n"] == 4
    assert progress.splitlines()[-1] == "4/4 inputs searched"

"""`headway search-report` as a user runs it, on a run that has seen a few examples."""

import json
from functools import partial

import pytest
from cli_workdir import commands_in, run_file, train_runs

WORDS = ("one", "two", "three", "four")
RUN_FILE = run_file(
    {"train": {"source": "train.src", "target": "train.tgt"}, "test": "test.tsv"},
    train={"steps": 15, "evaluate_every": 15, "lr": 0.01},
    search={"max_length": 4},
)


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    """The current folder of commands, with a run."""
    folder = tmp_path_factory.mktemp("search_report")
    pairs = [(f"{a} {b}", f"{b} {a}") for a in WORDS for b in WORDS]
    (folder / "train.src").write_text("".join(f"{source}\n" for source, _ in pairs))
    (folder / "train.tgt").write_text("".join(f"{target}\n" for _, target in pairs))
    rows = [*pairs[:3], ("one two", "one two")]
    (folder / "test.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in rows))
    with commands_in(folder):
        train_runs(run=RUN_FILE)
        yield folder


@pytest.fixture
def report(headway):
    """Runs `headway search-report`: exit code, standard output, standard error."""
    return partial(headway, "search-report")


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
        (["--source", "train.src", "--group"], 2, "--group needs --target; --source alone is"),
        (["--source", "train.src", "--format", "tsv"], 2, "--format needs --data; --source"),
        (["--target", "train.tgt"], 2, "--source is missing: give --source and --target together"),
        (["--source", "nowhere.src"], 1, "nowhere.src"),
        (["--max-nodes", "0"], 2, "search: max_nodes = 0: expected a whole number of at least 1"),
    ],
)
def test_what_is_refused(fails, arguments, code, message):
    assert message in fails(code, "search-report", "run", *arguments)


def test_progress_of_a_long_set_goes_to_standard_error(report, monkeypatch):
    monkeypatch.setattr("headway.cli.search_report.SECONDS", 0.0)
    code, printed, progress = report("run", "--json", "--beams", "1")
    assert code == 0
    assert json.loads(printed)["n"] == 4
    assert progress.splitlines()[-1] == "4/4 inputs searched"

"""`headway view` as a user runs it: pages, pictures, data, and what is refused."""

import json
import re
from functools import partial

import pytest
from cli_workdir import ENCODER, TRANSFORMER, commands_in, run_file, train_runs

DATA = {"train": "pairs.tsv", "max_length": 16}
RUN_FILES = {
    "run": run_file(
        DATA,
        TRANSFORMER | {"decoder_layers": 2},
        train={"steps": 30, "lr": 0.01},
        search={"beam": 3, "max_length": 12},
    ),
    "none": run_file(
        DATA,
        {"family": "recurrent", "attention": "none", "d_model": 8},
        train={"steps": 2},
    ),
    "labels": run_file({"train": "labels.tsv"}, ENCODER, task="classify", train={"steps": 2}),
}
TEXT = "one two three"


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    """A folder with a Transformer, a recurrent run without attention, and a classifier."""
    folder = tmp_path_factory.mktemp("viewed")
    words = ("one", "two", "three", "four", "five", "six")
    rows = [[words[i % 6], words[i // 6 % 6], words[(i * 5) % 6]] for i in range(36)]
    pairs = [f"{' '.join(row)}\t{' '.join(reversed(row))}\n" for row in rows]
    (folder / "pairs.tsv").write_text("".join(pairs))
    labels = [f"{' '.join(row)}\t{'odd' if 'one' in row else 'even'}\n" for row in rows]
    (folder / "labels.tsv").write_text("".join(labels))
    (folder / "terms.tsv").write_text("one\tsix\n")
    with commands_in(folder):
        train_runs(**RUN_FILES)
        yield folder


@pytest.fixture
def view(headway):
    """Runs `headway view`: exit code, standard output, standard error."""
    return partial(headway, "view")


def test_a_page(view, workdir):
    code, stdout, stderr = view("run", TEXT, "--out", "new/page.html")
    assert (code, stdout, stderr) == (0, "", "")
    page = (workdir / "new" / "page.html").read_text("utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert TEXT in page
    assert not re.search(r'(src|href)="(https?:)?//', page), "nothing comes from elsewhere"
    assert [path.name for path in (workdir / "new").iterdir()] == ["page.html"]


def test_a_page_is_replaced(view, workdir):
    (workdir / "old.html").write_text("old")
    assert view("run", TEXT, "--out", "old.html")[0] == 0
    assert (workdir / "old.html").read_text("utf-8") != "old"


def test_markup_in_the_text_stays_text(view, workdir):
    evil = '</script><script>alert(1)</script> & "one" <!--'
    assert view("run", evil, "--out", "evil.html")[0] == 0
    page = (workdir / "evil.html").read_text("utf-8")
    assert "<script>alert" not in page
    assert "<!--" not in page.removeprefix("<!DOCTYPE html>")


def test_json(view):
    code, stdout, _ = view("run", TEXT, "--json", "--beam", "2", "--alpha", "0.5")
    data = json.loads(stdout)
    assert (code, data["kind"], data["run"]["name"]) == (0, "translate", "run")
    assert (data["search"]["beam"], data["search"]["alpha"]) == (2, 0.5)
    assert data["source"] == {"text": TEXT, "tokens": ["one", "two", "three", "⟨eos⟩"]}
    assert len(data["outputs"]) == 2
    assert stdout.count("\n") == 1


def test_search_options(view):
    options = ("--nbest", "1", "--max-length", "3", "--search", "stop=safe", "--prefix", "six ")
    _, stdout, _ = view("run", TEXT, "--json", *options)
    data = json.loads(stdout)
    assert (data["search"]["stop"], data["search"]["max_length"]) == ("safe", 3)
    [output] = data["outputs"]
    assert output["text"].startswith("six")
    _, stdout, _ = view("run", TEXT, "--json", "--glossary", "terms.tsv")
    best = json.loads(stdout)["outputs"][0]
    assert "six" in best["tokens"] or best["unmet"] == ["six"]


def test_a_target(view):
    _, stdout, _ = view("run", TEXT, "--target", "five", "--json")
    data = json.loads(stdout)
    assert [output["tokens"] for output in data["outputs"]] == [["five", "⟨eos⟩"]]
    assert data["search"] is None


@pytest.mark.parametrize("arguments", [["-"], []])
def test_standard_input(view, arguments):
    code, stdout, _ = view("run", *arguments, "--json", typed="one two\n")
    assert code == 0
    assert json.loads(stdout)["source"]["text"] == "one two"


def test_standard_input_with_nothing_in_it(view):
    code, stdout, stderr = view("run", "--json", typed="")
    assert (code, stdout) == (1, "")
    assert "the text is blank" in stderr


def test_pictures(view, workdir):
    for name, options in {
        "mean": [],
        "one": ["--attention", "cross", "--layer", "-1", "--head", "1", "--output", "1"],
        "inner": ["--attention", "decoder", "--layer", "mean"],
        "outer": ["--attention", "encoder"],
    }.items():
        code, _, stderr = view("run", TEXT, "--png", f"{name}.png", *options)
        assert (code, stderr) == (0, "")
        assert (workdir / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
    assert (workdir / "mean.png").read_bytes() != (workdir / "one.png").read_bytes()


def test_a_run_without_attention(view):
    code, stdout, _ = view("none", TEXT, "--json", "--out", "none.html")
    data = json.loads(stdout)
    assert code == 0
    assert data["outputs"][0]["attention"] == []
    assert data["trace"]["steps"]
    code, _, stderr = view("none", TEXT, "--png", "none.png")
    assert code == 1
    assert stderr == (
        "headway: error: this model has no attention to look at; use a family that attends, such "
        "as transformer\n"
    )


def test_a_classifier(view):
    code, stdout, _ = view("labels", TEXT, "--json", "--out", "labels.html")
    data = json.loads(stdout)
    assert (code, data["kind"]) == (0, "classify")
    assert {output["text"] for output in data["outputs"]} == {"odd", "even"}
    assert sum(output["score"] for output in data["outputs"]) == pytest.approx(1.0)
    code, _, stderr = view("labels", TEXT, "--json", "--target", "odd")
    assert code == 2
    assert "--target has no meaning for labels, which was trained for task 'classify'" in stderr
    code, _, stderr = view("labels", TEXT, "--json", "--beam", "2")
    assert code == 2
    assert "the search setting beam has no meaning for labels" in stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([TEXT], 2, "nothing to make; add --out page.html, --png picture.png or --json"),
        (["", "--json"], 1, "the text is blank, and there is nothing to look at; give some words"),
        (["one " * 20, "--json"], 1, "the text has 21 tokens and the model was trained with at"),
        ([TEXT, "--out", "run"], 1, "run cannot be written: Is a directory; name another path"),
        ([TEXT, "--out", "run.toml/x.html"], 1, "run.toml/x.html cannot be written: "),
        ([TEXT, "--png", "run"], 1, "run cannot be written: Is a directory"),
        ([TEXT, "--json", "--layer", "0"], 2, "--layer chooses a picture; add --png FILE"),
        ([TEXT, "--png", "x.png", "--layer", "9"], 2, "no layer 9; there are 2: 0 to 1, or mean"),
        ([TEXT, "--png", "x.png", "--head", "top"], 2, "--head top: expected a number, or mean"),
        ([TEXT, "--png", "x.png", "--output", "7"], 2, "no output 7; there are 3, counted from 0"),
        ([TEXT, "--png", "x.png", "--attention", "self"], 2, "expected cross, encoder or decoder"),
        ([TEXT, "--json", "--beam", "x"], 2, "'x' is not a whole number"),
        ([TEXT, "--json", "--beam", "0"], 2, "beam"),
        ([TEXT, "--json", "--target", "six", "--beam", "2"], 2, "is not searched for"),
        (["\udcff", "--json"], 2, "is not UTF-8"),
    ],
)
def test_what_is_refused(view, arguments, code, message):
    exit_code, stdout, stderr = view("run", *arguments)
    assert (exit_code, stdout) == (code, "")
    assert message in stderr
    assert stderr.count("\n") == 1
    assert stderr.startswith("headway: error: ")


def test_input_that_is_no_text(view):
    code, _, stderr = view("run", "-", "--json", typed=b"one \xff\n")
    assert code == 1
    assert "standard input:1: not UTF-8: byte 0xff" in stderr


def test_a_directory_that_is_no_run(view, workdir):
    (workdir / "empty").mkdir(exist_ok=True)
    code, _, stderr = view("empty", TEXT, "--json")
    assert code == 1
    assert stderr.startswith("headway: error: empty")

"""`headway evaluate` as a user runs it: the table, its JSON, and what is refused."""

import json
import re

import pytest

from headway.tasks import TASKS, make_task


def test_the_table(headway, trained, workdir):
    code, stdout, _ = headway("evaluate", "run", "--beam", "1", "--outputs", "outputs.txt")
    assert code == 0
    lines = stdout.splitlines()
    assert lines[0].split() == ["metric", "value", "95%", "interval", "signature"]
    assert [line.split()[0] for line in lines[1:5]] == ["BLEU", "chrF", "TER", "exact"]
    assert "tok:13a" in lines[1]
    assert lines[6].startswith("8 lines, beam 1, alpha 1; weights: best by exact, step ")
    assert re.fullmatch(r"strange outputs: repetition \d, empty \d, copied \d, length \d", lines[7])
    assert len((workdir / "outputs.txt").read_text().splitlines()) == 8


def test_json_of_other_data(headway, trained, workdir):
    sources, targets = ((workdir / f"test.{end}").read_text().split("\n") for end in ("src", "tgt"))
    rows = zip(sources[:-1], targets[:-1], strict=True)
    (workdir / "test.tsv").write_text("".join(f"{a}\tx\t{b}\n" for a, b in rows))
    options = ("--beam", "1", "--metric", "chrf", "--json")
    files = ("--source", "test.src", "--target", "test.tgt")
    table = ("--data", "test.tsv", "--source", "1", "--target", "-1")
    own, from_files, from_table = (
        json.loads(headway("evaluate", "run", *data, *options)[1]) for data in ((), files, table)
    )
    assert own == from_files == from_table
    assert set(own["metrics"]) == {"chrf"}
    assert set(own["metrics"]["chrf"]) == {"value", "low", "high", "signature"}
    assert own["n"] == 8
    assert own["search"]["beam"] == 1
    assert own["weights"]["rule"].startswith("best by exact")


def test_alternative_references(headway, trained, workdir):
    """A word is right if any of its pronunciations is: the model's own output is made one."""
    output = headway("translate", "run", "test.src", "--beam", "1")[1].splitlines()[0]
    source = (workdir / "test.src").read_text().splitlines()[0]
    (workdir / "several.src").write_text(f"{source}\nnine\n{source}\n")
    (workdir / "several.tgt").write_text(f"wrong\nwrong\n{output}\n")
    files = ("--source", "several.src", "--target", "several.tgt", "--beam", "1")
    metrics = ("--metric", "ser", "--metric", "per", "--json")
    grouped = json.loads(headway("evaluate", "run", *files, *metrics, "--group")[1])
    assert grouped["n"] == 2
    assert grouped["metrics"]["ser"]["value"] == 50.0
    assert set(grouped["metrics"]) == {"ser", "per"}
    apart = json.loads(headway("evaluate", "run", *files, *metrics)[1])
    assert apart["n"] == 3
    assert apart["metrics"]["ser"]["value"] == pytest.approx(200 / 3)
    words = headway("evaluate", "run", *files, "--metric", "wer", "--json", "--group")[1]
    signature = json.loads(words)["metrics"]["wer"]["signature"]
    assert signature.startswith("wer|edits-of-words|nearest-reference|n:2|nrefs:var|")


def test_the_help_names_the_metrics(headway):
    text = " ".join(headway("evaluate", "--help")[1].split())
    for task in TASKS:
        assert f"{task}: {', '.join(make_task(task).metrics)}" in text


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--metric", "blue"), 2, "no metric 'blue' for task 'translate'; expected one of bleu,"),
        (("--source", "test.src"), 2, "--target is missing: give --source and --target together"),
        (("--data", "test.src"), 2, "set format to one of tsv, csv, jsonl"),
        (("--data", "test.src", "--format", "tvs"), 2, "--format tvs: expected one of auto, lines"),
        (("--data", "tets.tsv"), 1, "no file tets.tsv"),
        (("--source", "test.src", "--target", "train.tgt"), 1, "test.src ends after line 8"),
    ],
)
def test_what_is_refused(fails, trained, options, code, message):
    assert message in fails(code, "evaluate", "run", *options)

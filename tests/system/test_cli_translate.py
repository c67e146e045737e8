"""`headway translate` with everything it offers: requests, terms, alignments, traces, ensembles."""

import gzip
import json
import math
import re
import shutil
import sys
from pathlib import Path

import pytest
from cli_workdir import TRANSFORMER, commands_in, run_file, start, train_runs

from headway.cli import main
from headway.cli.options import Grouped
from headway.cli.translate import one_line, translate

RUN_FILE = run_file(
    {"train": "pairs.tsv", "test": "pairs.tsv", "max_length": 16},
    TRANSFORMER | {"decoder_layers": 2},
    train={"steps": 40, "lr": 0.01},
    search={"beam": 3, "max_length": 12},
)


EVALUATE = ("evaluate", "run", "--metric", "exact")
NEEDS_FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    """A folder with two runs of one vocabulary and a run of another."""
    folder = tmp_path_factory.mktemp("translate")
    words = ("one", "two", "three", "four", "five", "six")
    rows = [[words[i % 6], words[i // 6 % 6], words[(i * 5) % 6]] for i in range(36)]
    lines = [f"{' '.join(row)}\t{' '.join(reversed(row))}\n" for row in rows]
    (folder / "pairs.tsv").write_text("".join(lines))
    (folder / "inputs.txt").write_text("one two three\n\nsix\n")
    with commands_in(folder):
        train_runs(run=RUN_FILE)
        assert main(["train", "run.toml", "seed=2", "train.steps=8", "--out", "other"]) == 0
        bytewise = ("text.kind=bytes", "train.steps=2", "data.max_length=60")
        assert main(["train", "run.toml", *bytewise, "--out", "bytes"]) == 0
        yield folder


@pytest.fixture
def records(headway):
    """Runs a `translate --json` that must work: its objects and its standard error."""

    def run(*arguments, typed=None):
        code, stdout, stderr = headway("translate", "run", *arguments, "--json", typed=typed)
        assert code == 0, stderr
        return [json.loads(line) for line in stdout.splitlines()], stderr

    return run


def texts(records):
    return [record["outputs"][0]["text"] for record in records]


# Lines


@pytest.fixture(scope="module")
def inputs(workdir):
    """A file with a blank line, no end after its last one, and lengths out of order."""
    file = workdir / "lines.txt"
    file.write_text("one two three four five six\n\nfive\nthree four")
    return file


def test_order_and_blank_lines_are_kept(headway, inputs):
    code, stdout, stderr = headway("translate", "run", str(inputs), "--beam", "2")
    assert (code, stderr) == (0, "")
    lines = stdout.removesuffix("\n").split("\n")
    assert len(lines) == 4
    assert lines[1] == ""
    _, alone, _ = headway("translate", "run", str(inputs), str(inputs), "--beam", "2")
    assert alone == stdout * 2


def test_standard_input(workdir, inputs):
    expected = start("translate", "run", str(inputs), cwd=workdir)
    with open(inputs) as stream:
        got = start("translate", "run", "--threads", "1", stdin=stream, cwd=workdir)
    assert got.communicate(timeout=300)[0] == expected.communicate(timeout=300)[0] != ""


def test_json(headway, inputs):
    code, stdout, _ = headway("translate", "run", str(inputs), "--beam", "3", "--json")
    assert code == 0
    records = [json.loads(line) for line in stdout.splitlines()]
    assert [record["source"] for record in records] == inputs.read_text().split("\n")
    for record in records:
        assert set(record) == {"source", "outputs"}
        [best] = record["outputs"]
        assert {"text", "log_prob", "score", "tokens"} <= set(best)
        n_ends = best["finished"] if best["text"] else 0  # a blank line is not searched
        assert len(best["token_log_probs"]) == len(best["tokens"]) + n_ends
    assert records[1]["outputs"][0]["text"] == ""


def test_n_best_lists(headway, inputs):
    options = ("--beam", "3", "--nbest", "2")
    code, stdout, _ = headway("translate", "run", str(inputs), *options)
    assert code == 0
    rows = [line.split(" ||| ") for line in stdout.splitlines()]
    # A blank line has one output, itself.
    assert [row[0] for row in rows] == ["0", "0", "1", "2", "2", "3", "3"]
    assert all(len(row) == 3 for row in rows)
    assert float(rows[0][2]) >= float(rows[1][2])


def test_long_input_is_taken_in_chunks(headway, inputs, monkeypatch):
    whole = headway("translate", "run", str(inputs), "--beam", "1")[1]
    monkeypatch.setattr("headway.cli.input_lines.CHUNK_LINES", 2)
    assert headway("translate", "run", str(inputs), "--beam", "1")[1] == whole
    file = inputs.with_name("long.txt")
    file.write_text("one\ntwo\n" + "three " * 40 + "\n")
    code, stdout, stderr = headway("translate", "run", str(file), "--beam", "1")
    assert code == 1
    assert len(stdout.splitlines()) == 2, "the lines before are translated"
    assert re.search(
        rf"^headway: error: {file}:3 has \d+ tokens and the model was trained with at most 16; "
        r"shorten it, or split long lines \(--split\); --on-error keep leaves such lines out$",
        stderr,
    )
    code, stdout, _ = headway("translate", "run", str(file), "--beam", "1", "--split")
    assert (code, len(stdout.splitlines())) == (0, 3)


def test_line_breaks_inside_an_output_do_not_break_the_order():
    assert one_line("a\r\nb\u2028c") == "a  b\u2028c"


def test_missing_and_damaged_input(fails, workdir):
    assert "cannot read absent.txt" in fails(1, "translate", "run", "absent.txt")
    (workdir / "latin.txt").write_bytes("naïve\n".encode("latin-1"))
    assert fails(1, "translate", "run", "latin.txt").startswith("latin.txt:1: not UTF-8")


# Requests


REQUESTS = [
    {"source": "one two three", "require": ["six"]},
    {"source": "one two three", "require": [["zero", "four"]], "forbid": ["three"]},
    {"source": "one two three", "prefix": "five s"},
    {"source": "one two three", "require": ["zero"]},
    {"source": ""},
]


def test_requests_in_json_lines(records, workdir):
    content = "".join(json.dumps(request) + "\n" for request in REQUESTS)
    (workdir / "asked.jsonl").write_text(content)
    found, stderr = records("asked.jsonl")
    said = [text.split() for text in texts(found)]
    assert "six" in said[0]
    assert "four" in said[1]
    assert "three" not in said[1]
    assert said[2][:2] == ["five", "six"]
    assert said[4] == []
    assert [r["outputs"][0].get("unmet") for r in found] == [[], [], None, ["zero"], None]
    assert stderr == 'headway: warning: asked.jsonl:4: required "zero" is missing\n'
    with gzip.open(workdir / "asked.jsonl.gz", "wt") as file:
        file.write(content)
    assert records("asked.jsonl.gz")[0] == found
    typed, stderr = records("--jsonl", typed=content)
    assert typed == found
    assert 'standard input:4: required "zero" is missing' in stderr


def test_mistakes_in_requests_name_file_and_line(fails, workdir):
    (workdir / "wrong.jsonl").write_text('{"source": "one"}\n{"source": "one", "requires": []}\n')
    assert fails(1, "translate", "run", "wrong.jsonl") == (
        "wrong.jsonl:2: unknown key 'requires'; expected source, require, forbid, prefix; "
        "--on-error keep leaves such lines out"
    )
    message = fails(1, "translate", "run", "--jsonl", typed="one two\n")
    assert message.startswith("standard input:1: not valid JSON (")
    clash = '{"source": "one", "require": ["six"], "forbid": ["six"]}\n'
    message = fails(1, "translate", "run", "--jsonl", typed=clash)
    assert message.startswith("standard input:1: 'six' is required while 'six' is forbidden")


def test_a_prefix_for_all_lines(headway, records):
    code, stdout, _ = headway("translate", "run", "inputs.txt", "--prefix", "six f")
    assert code == 0
    first, blank, last = stdout.split("\n")[:3]
    assert re.match("six f(our|ive)", first)
    assert blank == ""
    assert re.match("six f(our|ive)", last)
    own = '{"source": "one", "prefix": "two "}\n{"source": "one"}\n'
    found, _ = records("--jsonl", "--prefix", "six ", typed=own)
    assert [text.split()[0] for text in texts(found)] == ["two", "six"]


def test_a_prefix_that_cannot_be_written(fails):
    assert fails(1, "translate", "run", "inputs.txt", "--prefix", "six zebra ") == (
        "inputs.txt:1: the prefix 'six zebra ' cannot be encoded: its tokens decode to "
        "'six ⟨unk⟩'; use words of the training data; --on-error keep leaves such lines out"
    )


def test_a_glossary(headway, records, fails, workdir):
    (workdir / "terms.tsv").write_text("two\tsix\nsix\tzero | none\n")
    found, stderr = records("inputs.txt", "--glossary", "terms.tsv")
    assert "six" in texts(found)[0].split()
    assert found[0]["outputs"][0]["unmet"] == []
    assert found[2]["outputs"][0]["unmet"] == ["zero | none"]
    assert stderr == 'headway: warning: inputs.txt:3: required "zero | none" is missing\n'
    code, stdout, stderr = headway("translate", "run", "inputs.txt", "--glossary", "terms.tsv")
    assert code == 0, "a term that is missing is no failure"
    assert stdout.splitlines() == texts(found)
    (workdir / "half.tsv").write_text("two\tsix\nthree\n")
    message = fails(1, "translate", "run", "inputs.txt", "--glossary", "half.tsv")
    assert message.startswith("half.tsv:2: 'three' has no target term")
    assert "absent.tsv" in fails(1, "translate", "run", "inputs.txt", "--glossary", "absent.tsv")


# Searching


def test_sampling_is_drawn_from_the_seed(headway, monkeypatch):
    options = ("inputs.txt", "--sample", "--nbest", "4", "--seed", "5")
    code, first, _ = headway("translate", "run", *options)
    assert code == 0
    assert [line.split(" ||| ")[0] for line in first.splitlines()] == [*"0000", "1", *"2222"]
    assert headway("translate", "run", *options)[1] == first
    assert headway("translate", "run", *options[:-1], "6")[1] != first
    monkeypatch.setattr("headway.cli.input_lines.CHUNK_LINES", 1)
    chunked = headway("translate", "run", *options)[1]
    for line, whole in zip(chunked.splitlines(), first.splitlines(), strict=True):
        (*words, score), (*whole_words, whole_score) = line.split(" ||| "), whole.split(" ||| ")
        assert words == whole_words, "chunks change no draw"
        assert float(score) == pytest.approx(float(whole_score), abs=1e-5)


def test_sampling_from_one_token_is_greedy_search(headway):
    greedy = headway("translate", "run", "inputs.txt", "--beam", "1")[1]
    assert headway("translate", "run", "inputs.txt", "--sample", "--top-k", "1")[1] == greedy
    cold = ("--sample", "--temperature", "0.001", "--top-p", "0.5")
    assert headway("translate", "run", "inputs.txt", *cold)[1] == greedy


def test_lengths_repetitions_and_the_stop_rule(records):
    found, _ = records("inputs.txt", "--min-length", "9", "--no-repeat", "1")
    for record in (found[0], found[2]):
        tokens = record["outputs"][0]["tokens"]
        assert len(tokens) == len(set(tokens)), "no token comes twice"
    long, _ = records("inputs.txt", "--min-length", "9")
    assert all(len(record["outputs"][0]["tokens"]) >= 8 for record in (long[0], long[2]))
    safe, _ = records("inputs.txt", "--stop", "safe")
    plain, _ = records("inputs.txt")
    assert all(
        record["outputs"][0]["score"] >= other["outputs"][0]["score"] - 1e-6
        for record, other in zip(safe, plain, strict=True)
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--beam", "0"), "search: beam = 0: expected a whole number of at least 1"),
        (("--alpha", "nan"), "search: alpha = nan: expected a number"),
        (("--alpha", "inf"), "search: alpha=inf is not a finite number; 0 to 1 is usual"),
        (
            ("--alpha", "abc"),
            "Invalid value for '--alpha': 'abc' is not a number; see headway translate --help",
        ),
        (
            ("--beam", "2", "--nbest", "3"),
            "search: n_best=3 does not fit beam=2; n_best lies between 1 and beam: lower n_best",
        ),
        (("--beam", "many"), "Invalid value for '--beam': 'many' is not a whole number; see"),
        (("--max-length", "0"), "search: max_length = 0: expected"),
        (("--nbest", "0"), "search: n_best = 0: expected a whole number of at least 1"),
        (("--stop", "soon"), 'search: stop = "soon": expected one of "finished", "safe"'),
        (("--temperature", "0.5"), 'search: temperature=0.5 has no meaning with method="beam"'),
        (
            ("--sample", "--temperature", "0"),
            "search: temperature = 0.0: expected a number greater than 0",
        ),
        (("--sample", "--top-p", "2"), "search: top_p = 2.0: expected"),
        (("--align-layer", "top"), "--align-layer top: expected the number of a layer, or mean"),
        (("--align-layer", "2"), "no attention layer 2; the model has 2: 0 to 1, or mean"),
        (("--search", "beam=0"), "search: beam = 0: expected a whole number of at least 1"),
        (("--search", "min_ratio=x"), 'search: min_ratio = "x": expected a number of at least 0'),
        (("--search", "bean=4"), "search: unknown key bean; did you mean beam?"),
        (("--search", "beam=4\nalpha=2"), 'search: beam = "4\\nalpha=2": expected a whole number'),
        (("--search", "beam"), "--search beam: expected KEY=VALUE, for example min_ratio=0.5"),
        (
            ("--search", "beam=4", "--beam", "5"),
            "--search beam=4 and an option of its own set search.beam; leave one of them out",
        ),
        (
            ("--sample", "--search", "method=exhaustive"),
            "--search method=exhaustive and an option of its own set search.method; leave one of",
        ),
        (
            ("--compute-type", "int8"),
            "--compute-type int8 is a setting of the engine ctranslate2; add --engine ctranslate2",
        ),
        (
            ("--engine", "ctranslate2", "--compute-type", "int4"),
            "--compute-type int4: expected one of default, float32, int8",
        ),
        (("--engine", "quick"), "--engine quick: expected headway or ctranslate2"),
        (
            ("--trace", "t.jsonl", "--split"),
            "a trace shows one search, and split lines have several; leave out --trace or --split",
        ),
        (("--trace", "t.jsonl", "--sample"), 'method = "sample" has no trace; set method = "beam"'),
        (("--sample", "--glossary", "all.tsv"), 'method = "sample" cannot search with required or'),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(fails, workdir, options, message):
    (workdir / "all.tsv").write_text("one\tsix\n")
    assert fails(2, "translate", "run", "inputs.txt", *options).startswith(message)


def test_every_setting_can_be_given(headway, records):
    by_option, _ = records("inputs.txt", "--sample", "--seed", "5", "--nbest", "3")
    given = ("method=sample", "search.seed=5", "n_best = 3")
    by_key, _ = records("inputs.txt", *(word for text in given for word in ("--search", text)))
    assert by_key == by_option
    mixed, _ = records("inputs.txt", "--search", "seed=5", "--sample", "--nbest", "3")
    assert mixed == by_option
    long, _ = records("inputs.txt", "--search", "min_ratio=2.5")
    assert len(long[0]["outputs"][0]["tokens"]) >= 9, "2.5 times 4 tokens, the end counted"
    code, stdout, stderr = headway(*EVALUATE, "--search", 'method="sample"', "--json")
    assert code == 0, stderr
    assert json.loads(stdout)["search"]["method"] == "sample"
    table = headway(*EVALUATE, "--search", "method=sample")[1]
    assert re.search(r"^36 lines, sample, alpha 1; ", table, re.MULTILINE)


def test_json_has_the_tokens_with_their_probabilities(records):
    found, _ = records("inputs.txt", "--nbest", "3")
    short, _ = records("inputs.txt", "--max-length", "1", "--min-length", "2")
    outputs = [output for record in found + short for output in record["outputs"]]
    assert {output["finished"] for output in outputs} == {True, False}
    for output in outputs:
        if output["tokens"]:
            values = output["token_log_probs"]
            assert len(values) == len(output["tokens"]) + output["finished"]
            assert sum(values) == pytest.approx(output["log_prob"], abs=1e-4)
        assert "proven" not in output


def test_an_output_that_is_not_proven_is_a_warning(headway, records):
    exhaustive = ("--search", "method=exhaustive", "--max-length", "3", "--search")
    found, stderr = records("inputs.txt", *exhaustive, "max_nodes=100000")
    assert [record["outputs"][0].get("proven") for record in found] == [True, None, True]
    assert stderr == ""
    found, stderr = records("inputs.txt", *exhaustive, "max_nodes=1")
    assert [record["outputs"][0].get("proven") for record in found] == [False, None, False]
    assert stderr == "".join(
        f"headway: warning: inputs.txt:{line}: not proven to be the best within max_nodes=1; raise "
        "search.max_nodes\n"
        for line in (1, 3)
    )
    code, _, stderr = headway(*EVALUATE, *exhaustive, "max_nodes=1")
    assert (code, stderr) == (
        0,
        "headway: warning: 36 of 36 outputs are not proven to be the best within max_nodes=1; "
        "raise search.max_nodes\n",
    )


# Looking inside


def test_alignments(headway, records):
    plain = headway("translate", "run", "inputs.txt")[1].splitlines()
    lines = headway("translate", "run", "inputs.txt", "--align")[1].splitlines()
    found, _ = records("inputs.txt", "--align")
    for text, line, record in zip(plain, lines, found, strict=True):
        output = record["outputs"][0]
        pairs = [f"{source}-{i}" for i, source in enumerate(output["alignment"])]
        assert line == f"{text} ||| {' '.join(pairs)}"
        assert len(output["alignment"]) == len(output["tokens"])
        assert record["source_tokens"] == record["source"].split()
        assert set(output["alignment"]) <= set(range(len(record["source_tokens"])))
    numbered = headway("translate", "run", "inputs.txt", "--align", "--nbest", "2")[1]
    assert re.match(r"0 \|\|\| [a-z ]+ \|\|\| -[0-9.]+ \|\|\| \d-0", numbered)
    last, _ = records("inputs.txt", "--align-layer", "-1")
    assert last == records("inputs.txt", "--align-layer", "1")[0]
    assert records("inputs.txt", "--align-layer", "mean")[0] == found


def test_traces(headway, workdir, records, fails):
    found, _ = records("inputs.txt", "--trace", "trace.jsonl")
    assert texts(found) == texts(records("inputs.txt")[0])
    lines = (workdir / "trace.jsonl").read_text(encoding="utf-8").splitlines()
    first, blank, last = (json.loads(line) for line in lines)
    assert (first["place"], first["source"]) == ("inputs.txt:1", "one two three")
    assert blank == {"place": "inputs.txt:2", "source": ""}
    assert last["beam"] == 3
    step = first["steps"][0]
    assert len(step["text"]) == len(step["token"]) == len(step["score"]) == len(step["fate"])
    kept = [text for text, fate in zip(step["text"], step["fate"], strict=True) if fate == "kept"]
    assert found[0]["outputs"][0]["tokens"][0] in kept
    message = fails(1, "translate", "run", "inputs.txt", "--trace", "absent/trace.jsonl")
    assert message == (
        "--trace absent/trace.jsonl cannot be written: No such file or directory; name another "
        "path or make room"
    )


@NEEDS_FULL
def test_a_full_disk_behind_standard_output(fails, monkeypatch):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert fails(1, "translate", "run", "inputs.txt").startswith(
            "standard output cannot be written: No space left on device; "
        )


@NEEDS_FULL
def test_a_full_disk_behind_a_file(headway):
    for option, verb in (("--trace", ["translate", "run", "inputs.txt"]), ("--outputs", EVALUATE)):
        code, _, stderr = headway(*verb, option, "/dev/full")
        assert code == 1
        assert stderr == (
            f"headway: error: {option} /dev/full cannot be written: No space left on device; name "
            "another path or make room\n"
        )


# Several runs


def test_ensembles(headway, records, fails):
    alone, _ = records("inputs.txt")
    twice, _ = records("inputs.txt", "--with", "run", "--with", "run")
    mixed, _ = records("inputs.txt", "--with", "other")
    assert texts(twice) == texts(alone)
    scores = [
        [record["outputs"][0]["score"] for record in found] for found in (alone, twice, mixed)
    ]
    assert scores[1] == pytest.approx(scores[0], abs=1e-4)
    assert scores[2] != pytest.approx(scores[0], abs=1e-4)
    message = fails(1, "translate", "run", "inputs.txt", "--with", "bytes")
    assert message.startswith("bytes has another source vocabulary than run, and an ensemble needs")


def test_ensembles_are_evaluated_and_scored(headway):
    code, stdout, _ = headway("evaluate", "run", "--with", "other", "--json", "--beam", "1")
    assert code == 0
    record = json.loads(stdout)
    assert [member["run"] for member in record["with"]] == ["other"]
    table = headway("evaluate", "run", "--with", "other", "--beam", "1")[1]
    assert re.search(r"^with other; weights: .+, step 8$", table, re.MULTILINE)
    first, second, both = (
        [json.loads(line) for line in headway("score", *runs, "--json")[1].splitlines()]
        for runs in (["run"], ["other"], ["run", "--with", "other"])
    )
    assert len(both) == 36
    for a, b, mixed in zip(first, second, both, strict=True):
        pairs = zip(a["token_log_probs"], b["token_log_probs"], strict=True)
        mean = [math.log((math.exp(x) + math.exp(y)) / 2) for x, y in pairs]
        assert mixed["token_log_probs"] == pytest.approx(mean, abs=1e-4)


def test_a_run_file_that_was_cut_off_between_two_lines(fails, workdir):
    shutil.rmtree(workdir / "hurt", ignore_errors=True)
    shutil.copytree(workdir / "run", workdir / "hurt")
    file = workdir / "hurt" / "run.toml"
    file.write_text(file.read_text().partition("[train]")[0])
    (workdir / "hurt" / "manifest.json").unlink()
    expected = "hurt/run.toml is damaged (no [search] at its end); restore it from a copy"
    assert fails(1, "translate", "hurt", "inputs.txt") == expected


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("model.safetensors", r"^hurt/model\.safetensors is damaged \(.+\); "),
        ("run.toml", r"^hurt/run\.toml was changed \(.+\); restore it from a copy, or "),
        ("headway.json", r"^hurt/headway\.json is damaged; restore it from a copy, or train again"),
        (
            "codecs/tokenizer.json",
            r"^hurt/codecs/tokenizer\.json was changed \(.+\); restore it from a copy, or ",
        ),
    ],
)
def test_a_damaged_run(fails, workdir, damage, message):
    shutil.rmtree(workdir / "hurt", ignore_errors=True)
    shutil.copytree(workdir / "run", workdir / "hurt")
    file = workdir / "hurt" / damage
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    for arguments in (["translate", "hurt"], ["translate", "run", "--with", "hurt"]):
        assert re.search(message, fails(1, *arguments, "inputs.txt"))


def test_a_foreign_directory(fails, workdir):
    (workdir / "foreign").mkdir(exist_ok=True)
    (workdir / "foreign" / "config.json").write_text("{}")
    for arguments in (["translate", "foreign"], ["translate", "run", "--with", "foreign"]):
        message = fails(1, *arguments, "inputs.txt")
        assert message.startswith("foreign is not a run directory (it has no headway.json); ")


# Help


def test_help_groups_the_options():
    import typer

    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    app.command(cls=Grouped)(translate)
    command = typer.main.get_command(app)
    with command.make_context("headway translate", ["run"]) as context:
        shown = command.get_help(context)
    headings = re.findall(r"^(\w[\w ]+):$", shown, re.MULTILINE)
    assert headings == [
        "Arguments",
        "Options",
        "Search",
        "Sampling",
        "Terms and prefixes",
        "Looking inside",
        "Computing",
    ]
    sampling = shown.partition("\nSampling:\n")[2].partition("\nTerms")[0]
    assert re.findall(r"^  (--[\w-]+)", sampling, re.MULTILINE) == [
        "--sample",
        "--temperature",
        "--top-k",
        "--top-p",
        "--seed",
    ]

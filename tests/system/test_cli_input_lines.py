"""Lines that cannot be used: one stops a command, or all are left out and listed at the end."""

import json
import re
import shutil

import numpy as np
import pytest
from cli_workdir import ENCODER, SIZES, commands_in, run_file, train_runs

import headway as package
from headway.errors import InputError

LONG = "one " * 30
LINES = f"one two three\n{LONG}\n\n".encode() + b"\xff\xfe bad\nfour five\n"
TOO_LONG = "has 31 tokens and the model was trained with at most 24; shorten it, or"
NO_TEXT = "not UTF-8: byte 0xff at position 1 of the line; convert the file (iconv -t UTF-8)"
SHORT = {"steps": 2}
LANGUAGE = {"family": "decoder", "layers": 1, "positions": "learned", "max_positions": 24, **SIZES}


@pytest.fixture(scope="module")
def workdir(tmp_path_factory, reversal_run):
    """A folder with a run of each kind, and two files of lines."""
    folder = tmp_path_factory.mktemp("lines")
    shutil.copytree(reversal_run, folder / "run")
    (folder / "a.txt").write_bytes(LINES)
    (folder / "b.txt").write_text(f"six\n{LONG}\n")
    (folder / "pairs.tsv").write_text("one two\tone\nsix\tsix\n" * 4)
    (folder / "tags.tsv").write_text("one two\tA B\nsix\tA\n" * 4)
    pairs = {"train": "pairs.tsv", "max_length": 24}
    block = {
        "train": {"file": str(reversal_run.parent / "train.src"), "format": "lines"},
        "max_length": 12,
        "block": 12,
    }
    with commands_in(folder):
        train_runs(
            labels=run_file(pairs, ENCODER, task="classify", train=SHORT),
            tags=run_file(pairs | {"train": "tags.tsv"}, ENCODER, task="tag", train=SHORT),
            book=run_file(block, LANGUAGE, task="language", train=SHORT, search={"max_length": 12}),
        )
        yield folder


def errors_of(stderr: str) -> list[str]:
    return [line.removeprefix("headway: error: ") for line in stderr.splitlines()]


@pytest.mark.parametrize(
    "command", [("translate", "run"), ("predict", "labels"), ("predict", "tags")]
)
def test_lines_are_left_out_and_listed(command, headway):
    code, stdout, stderr = headway(*command, "a.txt", "b.txt", "--on-error", "keep")
    lines = stdout.split("\n")
    assert (code, len(lines), lines.pop()) == (1, 8, "")
    assert [row for row, line in enumerate(lines, 1) if not line] == [2, 3, 4, 7]
    heading, *listed = errors_of(stderr)
    assert heading == "3 of 7 lines cannot be used and are empty in the output:"
    assert [line.partition(" ")[0] for line in listed] == ["a.txt:2", "a.txt:4:", "b.txt:2"]
    assert listed[0].startswith(f"a.txt:2 {TOO_LONG}")
    assert listed[1] == f"a.txt:4: {NO_TEXT}"


def test_the_others_are_as_without_them(headway):
    code, stdout, _ = headway("translate", "run", "--on-error", "keep", "--sample", typed=LINES)
    usable = headway("translate", "run", "--sample", typed="one two three\n\n\n\nfour five\n")
    assert (code, usable[0]) == (1, 0)
    assert stdout == usable[1]


def test_n_best_lists_have_a_line_for_each(headway):
    _, stdout, _ = headway(
        "translate", "run", "a.txt", "--nbest", "2", "--align", "--on-error=keep"
    )
    numbers = [line.split(" ||| ")[0] for line in stdout.splitlines()]
    assert numbers == ["0", "0", "1", "2", "3", "4", "4"]
    assert len({line.count("|||") for line in stdout.splitlines()}) == 1


@pytest.mark.parametrize(
    ("command", "name", "outputs"),
    [
        (("translate", "run", "a.txt"), "source", "outputs"),
        (("predict", "labels", "a.txt"), "text", "label"),
        (("embed", "labels", "a.txt"), "text", "vector"),
        (("generate", "book", "--lines", "--file", "a.txt"), "prompt", "outputs"),
    ],
)
def test_json_has_an_error_and_no_outputs(command, name, outputs, headway):
    code, stdout, stderr = headway(*command, "--json", "--on-error", "keep")
    records = [json.loads(line) for line in stdout.splitlines()]
    assert (code, len(records)) == (1, 5)
    assert [record[name] for record in records] == ["one two three", LONG, "", None, "four five"]
    assert ["error" in record for record in records] == [False, True, False, True, False]
    assert all(
        ("error" in record) != (outputs in record) for record in records if record[name] != ""
    )
    assert [records[1]["error"], records[3]["error"]] == errors_of(stderr)[1:]


def test_pairs_that_are_too_long_have_no_score(headway, workdir):
    (workdir / "a.src").write_text(f"one\n{LONG}\n")
    (workdir / "a.tgt").write_text("one\none\n")
    files = ("--source", "a.src", "--target", "a.tgt", "--on-error", "keep")
    code, stdout, stderr = headway("score", "run", *files)
    assert code == 1
    assert re.fullmatch(r"-\d+\.\d+\t2\n\n", stdout)
    assert errors_of(stderr)[0] == "1 of 2 lines cannot be used and are empty in the output:"
    records = [
        json.loads(line) for line in headway("score", "run", *files, "--json")[1].splitlines()
    ]
    assert list(records[1]) == ["source", "target", "error"]


def test_vectors_of_such_lines_are_nan(headway, workdir):
    code, _, _ = headway("embed", "labels", "a.txt", "--out", "a.npy", "--on-error", "keep")
    assert code == 1
    assert np.isnan(np.load(workdir / "a.npy")).all(axis=1).tolist() == [
        False,
        True,
        False,
        True,
        False,
    ]


def test_requests_that_are_no_json(headway):
    typed = '{"source": "one"}\n{"source": 3}\n{"sauce": "one"}\n'
    code, stdout, stderr = headway("translate", "run", "--jsonl", "--on-error", "keep", typed=typed)
    assert (code, stdout.count("\n")) == (1, 3)
    assert [line.split()[1] for line in errors_of(stderr)[1:]] == ["input:2:", "input:3:"]


def test_a_line_beyond_all_bounds(headway, monkeypatch):
    monkeypatch.setenv("HEADWAY_MAX_LINE", "20")
    typed = "one\n" + "x" * 50 + "\ntwo\n"
    code, stdout, stderr = headway("translate", "run", "--on-error", "keep", typed=typed)
    assert (code, stdout.count("\n")) == (1, 3)
    assert errors_of(stderr)[1].startswith("standard input:2: the line has more than 20 bytes;")


@pytest.mark.parametrize(
    ("command", "start"),
    [
        (("translate", "run", "b.txt"), f"b.txt:2 {TOO_LONG} split long lines (--split)"),
        (("predict", "labels", "b.txt"), f"b.txt:2 {TOO_LONG} have it cut off (--cut)"),
        (("translate", "run", "a.txt"), f"a.txt:4: {NO_TEXT}"),
    ],
)
def test_one_line_stops_and_the_message_names_the_option(command, start, fails):
    assert fails(1, *command) == f"{start}; --on-error keep leaves such lines out"


def test_the_option_where_it_has_no_meaning(fails):
    assert fails(2, "translate", "run", "a.txt", "--on-error", "skip") == (
        "Invalid value for '--on-error': 'skip' is neither stop nor keep; see headway translate "
        "--help"
    )
    assert fails(2, "generate", "book", "one", "--on-error", "keep") == (
        "--on-error keep is for several prompts; add --file FILE --lines"
    )
    assert fails(2, "embed", "labels", "a.txt", "--compare", "--on-error", "keep") == (
        "--on-error keep goes with vectors; leave out --compare and --nearest"
    )


def test_a_missing_file_stops_in_any_case(fails):
    assert fails(1, "translate", "run", "no.txt", "--on-error", "keep") == (
        "cannot read no.txt: No such file or directory; check the name"
    )


@pytest.mark.parametrize(
    "command", [("translate", "run"), ("predict", "labels"), ("embed", "labels")]
)
def test_an_empty_file_has_no_answers(command, headway, workdir):
    (workdir / "empty.txt").write_text("")
    assert headway(*command, "empty.txt") == (0, "", "")
    if command[0] == "embed":
        assert headway(*command, "empty.txt", "--compare") == (0, "", "")


def test_the_vectors_of_an_empty_file(headway, workdir):
    (workdir / "empty.txt").write_text("")
    code, stdout, _ = headway("embed", "labels", "empty.txt", "--out", "empty.npy")
    assert (code, stdout) == (0, "empty.npy: 0 vectors of 16 numbers\n")
    assert np.load(workdir / "empty.npy").shape == (0, 16)


def test_in_python_the_error_is_the_result(workdir):
    first, second = package.load("run").translate(["one", LONG], on_error="keep")
    assert first.error is None
    assert isinstance(second, InputError)
    assert second.error == f'line 2 {TOO_LONG} split long lines (`too_long="split"`)'
    vectors = package.Embedder(package.load("labels")).embed(["one", LONG], on_error="keep")
    assert np.isnan(vectors).all(axis=1).tolist() == [False, True]
    assert "--" not in second.error

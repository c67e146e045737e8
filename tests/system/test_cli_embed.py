"""`headway embed` and `headway fill` as a user runs them: runs with an encoder."""

import json

import numpy as np
import pytest
from cli_workdir import ENCODER, SIZES, commands_in, run_file, train_runs

TRAIN = {"lr": 0.01, "batch_tokens": 256}
TEXTS = {"train": "lines.txt", "block": 12}
RUN_FILES = {
    "labels": run_file(
        {"train": "labels.tsv", "max_length": 12}, ENCODER, task="classify", train={"steps": 3}
    ),
    "bert": run_file(
        TEXTS, ENCODER | {"dropout": 0.0}, task="pretrain", train={"steps": 150, **TRAIN}
    ),
    "bart": run_file(
        TEXTS,
        SIZES | {"family": "transformer"},
        task="pretrain",
        pretrain={"objective": "bart"},
        train={"steps": 1},
    ),
}
LINES = ["the bank of the river", "money in the bank", "the river of money", "the bank of money"]


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("embed")
    (folder / "lines.txt").write_text("\n".join(LINES * 5) + "\n", "utf-8")
    (folder / "texts.txt").write_text("\n".join(LINES) + "\n", "utf-8")
    (folder / "banks.txt").write_text("the bank of the river\nmoney in the bank\n", "utf-8")
    labels = "".join(f"{line}\t{'wet' if 'river' in line else 'dry'}\n" for line in LINES * 3)
    (folder / "labels.tsv").write_text(labels, "utf-8")
    with commands_in(folder):
        train_runs(**RUN_FILES)
        yield folder


# Vectors


@pytest.mark.parametrize("run", ["labels", "bert"])
def test_one_object_for_each_line(headway, run):
    code, stdout, stderr = headway("embed", run, "texts.txt")
    assert (code, stderr) == (0, "")
    records = [json.loads(line) for line in stdout.splitlines()]
    assert [record["text"] for record in records] == LINES
    assert {len(record["vector"]) for record in records} == {16}
    typed = "\n".join(LINES) + "\n"
    assert headway("embed", run, "--json", typed=typed)[1] == stdout


def test_vectors_in_a_file_are_the_same(headway, workdir):
    vectors = np.array(
        [
            json.loads(line)["vector"]
            for line in headway("embed", "bert", "texts.txt")[1].splitlines()
        ]
    )
    code, stdout, _ = headway("embed", "bert", "texts.txt", "--out", "vectors.npy")
    assert code == 0
    assert stdout == "vectors.npy: 4 vectors of 16 numbers\n"
    found = np.load(workdir / "vectors.npy")
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, vectors, atol=1e-6)
    code, stdout, _ = headway(
        "embed", "bert", "texts.txt", "--normalise", "--out", "odd.name", "--json"
    )
    assert code == 0
    assert json.loads(stdout) == {"out": "odd.name", "n": 4, "width": 16}
    np.testing.assert_allclose(np.linalg.norm(np.load(workdir / "odd.name"), axis=1), 1, atol=1e-5)


def test_poolings_differ(headway):
    found = {
        headway("embed", "bert", "texts.txt", "--pooling", pooling)[1]
        for pooling in ("mean", "first")
    }
    assert len(found) == 2
    assert headway("embed", "bert", "texts.txt")[1] in found


def test_cosines_of_each_two(headway):
    code, stdout, _ = headway("embed", "bert", "texts.txt", "--compare", "--json")
    assert code == 0
    record = json.loads(stdout)
    cosines = np.array(record["cosines"])
    assert record["texts"] == LINES
    np.testing.assert_allclose(cosines, cosines.T, atol=1e-6)
    np.testing.assert_allclose(np.diag(cosines), 1, atol=1e-5)
    code, stdout, _ = headway("embed", "bert", "texts.txt", "--compare")
    assert code == 0
    head, *rows = stdout.splitlines()
    assert head.split() == ["1", "2", "3", "4"]
    assert [row.endswith(f"  {line}") for row, line in zip(rows, LINES, strict=True)] == [True] * 4
    assert rows[1].split()[:3] == ["2", f"{cosines[1, 0]:.3f}", "1.000"]


def test_a_word_in_context(headway):
    code, stdout, _ = headway("embed", "bert", "banks.txt", "--word", "bank", "--compare", "--json")
    assert code == 0
    assert json.loads(stdout)["cosines"][0][1] < 1 - 1e-6


def test_nearest_texts(headway):
    code, stdout, _ = headway("embed", "bert", "banks.txt", "--nearest", "texts.txt", "--top", "2")
    assert code == 0
    lines = stdout.splitlines()
    assert len(lines) == 6
    assert lines[0] == "the bank of the river"
    assert lines[1] == "  1.0000  the bank of the river"
    assert lines[4] == "  1.0000  money in the bank"
    code, stdout, _ = headway("embed", "bert", "banks.txt", "--nearest", "texts.txt", "--json")
    assert code == 0
    first, second = map(json.loads, stdout.splitlines())
    assert (first["nearest"][0]["line"], second["nearest"][0]["line"]) == (1, 2)
    assert len(first["nearest"]) == 4  # there are no more


def test_what_embed_refuses(fails, workdir):
    assert fails(2, "embed", "bert", "texts.txt", "--compare", "--out", "a.npy") == (
        "--out and --compare exclude each other; leave out all but one"
    )
    assert fails(2, "embed", "bert", "texts.txt", "--top", "3") == (
        "--top is the number of texts of --nearest; add --nearest FILE"
    )
    assert fails(2, "embed", "bert", "texts.txt", "--nearest", "texts.txt", "--top", "0") == (
        "--top 0: expected a number of at least 1"
    )
    assert fails(2, "embed", "bert", "texts.txt", "--pooling", "max") == (
        "--pooling max: expected mean or first"
    )
    assert fails(1, "embed", "bert", "texts.txt", "--word", "bank", "--compare") == (
        "texts.txt:3: the word 'bank' does not occur in it; leave the text out, or name another "
        "word"
    )
    assert "cannot be written" in fails(1, "embed", "bert", "texts.txt", "--out", "no/a.npy")
    assert fails(2, "embed", "bart", "texts.txt") == (
        "the model of bart is of the family 'transformer', which gives no states of a text; "
        "take a run of one of recurrent_encoder, encoder, unilm"
    )
    (workdir / "long.txt").write_text("the " * 30 + "\n", "utf-8")
    assert fails(1, "embed", "labels", "long.txt").startswith(
        "long.txt:1 has 31 tokens and the model was trained with at most 12; shorten it, or"
    )


def test_long_texts_are_cut_if_asked(headway, workdir):
    (workdir / "long.txt").write_text("the " * 30 + "\n", "utf-8")
    assert headway("embed", "labels", "long.txt", "--cut")[0] == 0


# Gaps


def test_words_for_a_gap(headway):
    code, stdout, _ = headway("fill", "bert", "the bank [MASK] the river", "--top", "3")
    assert code == 0
    rows = [line.split("\t") for line in stdout.splitlines()]
    assert len(rows) == 3
    assert rows[0][1] == "of"
    assert float(rows[0][0]) > float(rows[1][0]) >= float(rows[2][0])


def test_several_gaps(headway):
    code, stdout, _ = headway("fill", "bert", "[MASK] in the [MASK]", "--top", "1")
    assert code == 0
    lines = stdout.splitlines()
    assert (lines[0], lines[2]) == ("--- [MASK] 1 of 2", "--- [MASK] 2 of 2")
    code, stdout, _ = headway("fill", "bert", "[MASK] in the [MASK]", "--json")
    assert code == 0
    record = json.loads(stdout)
    assert [len(gap) for gap in record["gaps"]] == [5, 5]
    assert set(record["gaps"][0][0]) == {"token", "text", "probability"}


def test_what_fill_refuses(fails):
    assert fails(1, "fill", "bert", "the bank") == (
        "the text has no [MASK]; put it where a word is to be found, as in 'the dog [MASK] the cat'"
    )
    assert fails(2, "fill", "bert", "the [MASK]", "--top", "0").startswith("--top 0: expected")
    assert fails(2, "fill", "bart", "the [MASK]").startswith(
        "the model of bart was not trained to find hidden words; take a run of "
        'task = "pretrain" with pretrain.objective = "masked", "masked_next" or "unilm"'
    )
    assert fails(2, "fill", "labels", "the [MASK]") == (
        "headway fill has no use for labels, which was trained for task 'classify'; try headway "
        "predict labels or headway evaluate labels"
    )


def test_help_says_what_the_brackets_are(headway):
    code, stdout, _ = headway("fill", "--help")
    assert code == 0
    assert "[MASK] in TEXT is the mask token" in " ".join(stdout.split())

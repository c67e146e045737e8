"""A classifier from the command line: train, predict, evaluate, and what is refused."""

import json
import random

import pytest
from cli_workdir import ENCODER, commands_in, run_file, train_runs

COLUMNS = {"text": "review", "label": "stars"}
RUN_FILE = run_file(
    {
        "train": {"file": "train.csv", **COLUMNS},
        "valid": {"file": "test.csv", **COLUMNS},
        "test": {"file": "test.csv", **COLUMNS},
        "max_length": 20,
    },
    ENCODER | {"dropout": 0.0},
    task="classify",
    train={"steps": 60, "evaluate_every": 30, "lr": 0.01, "batch_tokens": 512},
)
WORDS = {"one": ["dull", "cold", "flat"], "three": ["fair", "plain"], "five": ["fine", "warm"]}


def table(n, seed):
    draw = random.Random(seed)
    lines = ["id,stars,review"]
    for i in range(n):
        label = draw.choice(list(WORDS))
        text = ["a", "film", "and", draw.choice(WORDS[label]), draw.choice(WORDS[label])]
        draw.shuffle(text)
        lines.append(f'{i},{label},"{" ".join(text)}"')
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    """Reviews whose words tell their stars, and a run trained on them."""
    folder = tmp_path_factory.mktemp("classify")
    (folder / "train.csv").write_text(table(200, 1), "utf-8")
    (folder / "test.csv").write_text(table(40, 2), "utf-8")
    (folder / "lines.txt").write_text("a fine warm film\n\ncold film and flat\n", "utf-8")
    (folder / "texts").write_text("a fine film\na dull film\n", "utf-8")
    (folder / "labels").write_text("five\none\n", "utf-8")
    with commands_in(folder):
        train_runs(run=RUN_FILE)
        yield folder


def test_it_learns_and_says_how_well(headway):
    code, stdout, _ = headway("evaluate", "run", "--json")
    assert code == 0
    record = json.loads(stdout)
    assert (record["n"], record["labels"]) == (40, ["five", "one", "three"])
    for name in ("accuracy", "macro_f1"):
        metric = record["metrics"][name]
        assert set(metric) == {"value", "low", "high", "signature"}
        assert metric["value"] > 95
        assert metric["low"] <= metric["value"] <= metric["high"]


def test_the_table_for_people(headway):
    _, stdout, _ = headway("evaluate", "run", "--metric", "accuracy")
    lines = stdout.splitlines()
    assert lines[0].split() == ["metric", "value", "95%", "interval", "signature"]
    assert lines[1].startswith("accuracy ")
    assert lines[-1].startswith("40 texts, 3 labels; weights: best by accuracy, step ")


def test_labels_of_lines_in_order(headway):
    code, stdout, _ = headway("predict", "run", "lines.txt", "lines.txt")
    assert code == 0
    lines = stdout.splitlines()
    assert len(lines) == 6
    assert lines[1] == lines[4] == ""  # blank lines stay blank
    rows = [lines[i].split("\t") for i in (0, 2, 3, 5)]
    assert [label for label, _ in rows] == ["five", "one", "five", "one"]
    assert all(1 / 3 < float(probability) <= 1 for _, probability in rows)


def test_labels_of_standard_input_as_json(headway):
    _, stdout, _ = headway("predict", "run", "--json", typed="plain and fair film\nwarm\n")
    first, second = map(json.loads, stdout.splitlines())
    assert (first["text"], first["label"]) == ("plain and fair film", "three")
    assert second["label"] == "five"
    assert set(first["probabilities"]) == {"one", "three", "five"}
    assert first["probability"] == max(first["probabilities"].values())
    assert sum(first["probabilities"].values()) == pytest.approx(1)


def test_data_of_ones_own(headway, workdir):
    for arguments in (
        ["--data", "test.csv"],
        ["--data", "test.csv", "--source", "review", "--target", "stars"],
        ["--source", "texts", "--target", "labels", "--outputs", "out"],
    ):
        code, stdout, stderr = headway("evaluate", "run", *arguments, "--json")
        assert code == 0, stderr
        assert json.loads(stdout)["metrics"]["accuracy"]["value"] > 95
    assert (workdir / "out").read_text("utf-8") == "five\none\n"


def test_long_lines_are_refused_or_cut(headway, fails, workdir):
    (workdir / "long.txt").write_text("fine\n" + "warm " * 30 + "\n", "utf-8")
    assert fails(1, "predict", "run", "long.txt") == (
        "long.txt:2 has 31 tokens and the model was trained with at most 20; shorten it, or have "
        "it cut off (--cut); --on-error keep leaves such lines out"
    )
    code, stdout, _ = headway("predict", "run", "long.txt", "--cut")
    assert (code, len(stdout.splitlines())) == (0, 2)


def test_labels_that_are_wrong(fails, workdir):
    (workdir / "wrong.csv").write_text("review,stars\nfine,five\ndull,two\n", "utf-8")
    assert fails(1, "evaluate", "run", "--data", "wrong.csv") == (
        "wrong.csv:3: the training data have no label 'two'; expected one of five, one, three"
    )
    (workdir / "wrong.csv").write_text("review,stars\nfine,five\ncold,one\ndull,\n", "utf-8")
    assert fails(1, "train", "run.toml", "--out", "no", "data.train.file=wrong.csv") == (
        "wrong.csv:4: the label is empty; give one, or leave the line out"
    )
    assert not (workdir / "no").exists()


def test_commands_that_do_not_fit(fails):
    for verb in ("translate", "score"):
        assert fails(2, verb, "run") == (
            f"headway {verb} has no use for run, which was trained for task 'classify'; "
            "try headway predict run or headway evaluate run"
        )


def test_an_export_that_has_no_counterpart(fails):
    said = fails(2, "export", "run", "--to", "hf", "--out", "x")
    assert said.startswith("run cannot be expressed in the format 'hf' because of model.norm_eps")
    assert 'model.residual = "pre" (the norm stands after the residual sum)' in said
    assert 'train with model.pooling = "first" and model.pooler = true' in said
    assert fails(2, "export", "run", "--to", "ctranslate2", "--out", "x") == (
        "run cannot be expressed in the format 'ctranslate2' because of model.family = "
        '"encoder"; train an encoder with other settings'
    )


def test_options_that_do_not_fit(fails):
    assert fails(2, "evaluate", "run", "--beam", "3") == (
        "--beam has no meaning for run, which was trained for task 'classify'; leave it out"
    )


def test_predict_refuses_other_runs(fails, workdir):
    decoder = ENCODER | {"family": "decoder"}
    data = {"train": "lines.txt"}
    train_runs(language=run_file(data, decoder, task="language", train={"steps": 1}))
    assert fails(2, "predict", "language") == (
        "headway predict has no use for language, which was trained for task 'language'; "
        "try headway generate language or headway score language or headway evaluate language"
    )


def test_info(headway):
    _, stdout, _ = headway("info", "run")
    assert "words, 3 labels" in stdout
    record = json.loads(headway("info", "run", "--json")[1])
    assert record["vocabulary"]["labels"] == ["five", "one", "three"]
    assert record["best"]["metric"] == "accuracy"

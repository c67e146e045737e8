"""A language model from the command line: train, evaluate, score, and what is refused."""

import json
import math
import random
import re

import pytest
from cli_workdir import commands_in

from headway.cli import main

RUN_FILE = """
task = "language"

[data]
train = { file = "book.txt", format = "text", part = [0.0, 0.8] }
valid = { file = "book.txt", format = "text", part = [0.8, 1.0] }
test = { file = "book.txt", format = "text", part = [0.8, 1.0] }
block = 16

[text]
kind = "characters"

[model]
d_model = 16
d_ff = 32
n_heads = 2
layers = 1
family = "decoder"
dropout = 0.0

[train]
steps = 60
evaluate_every = 30
lr = 0.01
batch_tokens = 256
"""


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    """Sentences whose letters are easy to foresee, and a run trained on them."""
    folder = tmp_path_factory.mktemp("language")
    draw = random.Random(1)
    words = ["the cat", "a dog", "sat on", "the mat", "and sang"]
    lines = [" ".join(draw.choices(words, k=4)) for _ in range(120)]
    (folder / "book.txt").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "lines.txt").write_text("the cat sat\n\nzzz\n", "utf-8")
    (folder / "run.toml").write_text(RUN_FILE, "utf-8")
    with commands_in(folder):
        assert main(["train", "run.toml", "--out", "run"]) == 0
        yield folder


def test_validations_on_a_share_of_the_text_measure_it(headway, workdir):
    options = (
        "data.block=4",
        "train.steps=3",
        "train.evaluate_every=1",
        "train.evaluate_share=0.5",
    )
    code, _, stderr = headway("train", "run.toml", "--out", "share", *options)
    assert code == 0
    assert re.search(r"3 validations on \d+ of \d+ examples", stderr)
    losses = [float(loss) for loss in re.findall(r"valid_loss (\S+)", stderr)]
    assert len(losses) == 3
    assert min(losses) > 1


def test_it_learns_and_says_how_well(headway, workdir):
    code, stdout, _ = headway("evaluate", "run", "--json")
    assert code == 0
    record = json.loads(stdout)
    metrics = record["metrics"]
    assert list(metrics) == [
        "loss",
        "perplexity",
        "bits_per_character",
        "bits_per_byte",
        "word_perplexity",
    ]
    assert set(metrics["loss"]) == {"value", "low", "high", "signature"}
    loss = metrics["loss"]
    assert loss["low"] < loss["value"] < loss["high"]
    assert loss["value"] < 1.6  # 20 letters taken alone would cost 2.8
    assert metrics["bits_per_character"]["value"] == pytest.approx(loss["value"] / math.log(2))
    text = (workdir / "book.txt").read_text("utf-8")
    assert record["tokens"] == len(text) - int(len(text) * 0.8) + 1
    assert (record["n"], record["unknown"], record["window"]) == (1, 0, 16)
    assert record["weights"]["rule"] == "best by loss"


def test_the_table_names_what_was_measured(headway):
    code, stdout, _ = headway("evaluate", "run", "--metric", "loss")
    assert code == 0
    assert stdout.splitlines()[0].split()[:2] == ["metric", "value"]
    assert "nats|per:token|interval:bootstrap95" in stdout
    assert "windows of 16; weights: best by loss, step" in stdout


def test_a_file_is_read_as_the_training_data_were_unless_told_otherwise(headway):
    whole, lines = (
        headway("score", "run", "--data", "lines.txt", *more)[1].splitlines()
        for more in ((), ("--format", "lines"))
    )
    assert [line.split("\t")[1] for line in whole] == ["18"]
    assert [line.split("\t")[1] for line in lines] == ["12", "1", "4"]
    code, stdout, stderr = headway("evaluate", "run", "--data", "lines.txt", "--json")
    assert code == 0
    assert json.loads(stdout)["unknown"] == 3
    assert "3 of 18 tokens are unknown to the tokenizer" in stderr


def test_scores_for_scripts(headway):
    code, stdout, _ = headway("score", "run", "--data", "lines.txt", "--format", "lines", "--json")
    assert code == 0
    first, _, last = map(json.loads, stdout.splitlines())
    assert first["text"] == "the cat sat"
    assert first["log_prob"] == pytest.approx(sum(first["token_log_probs"]))
    assert first["tokens"][:4] == ["t", "h", "e", "▁"]
    assert last["tokens"] == ["⟨unk⟩"] * 3 + ["⟨eos⟩"]


def test_info_and_resume(headway):
    code, stdout, _ = headway("info", "run")
    assert code == 0
    assert "decoder, d_model 16" in stdout
    assert headway("resume", "run")[0] == 0


def test_commands_that_do_not_fit_name_those_that_do(fails):
    expected = (
        "has no use for run, which was trained for task 'language'; "
        "try headway generate run or headway score run or headway evaluate run"
    )
    assert fails(2, "translate", "run", "lines.txt") == f"headway translate {expected}"
    assert fails(2, "predict", "run", "lines.txt") == f"headway predict {expected}"
    assert fails(2, "search-report", "run") == f"headway search-report {expected}"


def test_options_that_do_not_fit_are_refused(fails):
    assert fails(2, "evaluate", "run", "--beam", "3") == (
        "--beam has no meaning for run, which was trained for task 'language'; leave it out"
    )
    assert fails(2, "score", "run", "--source", "lines.txt").startswith(
        "--source has no meaning for run"
    )
    assert fails(2, "evaluate", "run", "--metric", "bleu") == (
        "no metric 'bleu' for task 'language'; expected one of loss, perplexity, "
        "bits_per_character, bits_per_byte, word_perplexity"
    )
    assert "expected one of auto, lines, text" in fails(
        2, "evaluate", "run", "--data", "lines.txt", "--format", "book"
    )


def test_a_model_that_does_not_fit_is_refused(fails, workdir):
    (workdir / "odd.toml").write_text(
        'task = "language"\ndata.train = "lines.txt"\nmodel.family = "transformer"\n', "utf-8"
    )
    message = fails(2, "train", "odd.toml", "--out", "no")
    assert (
        "a model without a source that can score, step; model.family = 'transformer' does not fit"
        in message
    )
    assert not (workdir / "no").exists()


# Models that count

COUNTED = RUN_FILE.partition("[model]")[0] + '[model]\nfamily = "markov"\n'
SETTINGS = {
    "unigram": "order = 0\n",
    "chain": "order = 3\n",
    "skips": "order = 2\nskips = 4\n",
    "selective": 'order = 2\nskips = 4\nselective = true\nsmoothing = "add-k"\nk = 0.1\n',
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_markov_chain_is_counted_saved_evaluated_and_scored(name, headway, workdir):
    (workdir / f"{name}.toml").write_text(COUNTED + SETTINGS[name], "utf-8")
    code, stdout, stderr = headway("train", f"{name}.toml", "--out", name)
    assert code == 0, stderr
    assert "weights:  counted, step 0" in stdout
    assert stderr.count("  > ") == 3  # continuations that were drawn
    code, stdout, _ = headway("evaluate", name, "--json")
    assert code == 0
    loss = json.loads(stdout)["metrics"]["loss"]["value"]
    assert loss == pytest.approx(logged_loss(workdir / name), rel=1e-5)
    code, stdout, _ = headway("score", name, "--data", "lines.txt", "--format", "lines", "--json")
    assert code == 0
    first, *_ = map(json.loads, stdout.splitlines())
    assert first["log_prob"] < 0
    assert headway("info", name)[0] == 0


def logged_loss(run):
    records = map(json.loads, (run / "log.jsonl").read_text("utf-8").splitlines())
    [found] = [record["valid_loss"] for record in records if "valid_loss" in record]
    return found


def test_higher_orders_see_more_and_go_together_with_networks(headway, workdir):
    for name in ("unigram", "chain"):
        (workdir / f"{name}.toml").write_text(COUNTED + SETTINGS[name], "utf-8")
        headway("train", f"{name}.toml", "--out", f"{name}-2")
    assert logged_loss(workdir / "chain-2") < logged_loss(workdir / "unigram-2") - 1
    code, stdout, _ = headway("evaluate", "run", "--with", "chain-2", "--json")
    assert code == 0
    alone = json.loads(headway("evaluate", "run", "--json")[1])["metrics"]["loss"]["value"]
    assert json.loads(stdout)["metrics"]["loss"]["value"] < alone


def test_a_recurrent_language_model_learns(headway, workdir):
    settings = 'family = "recurrent_decoder"\ncell = "lstm"\nd_model = 24\n'
    learned = "\n[train]" + RUN_FILE.partition("[train]")[2]
    given = COUNTED.replace('family = "markov"\n', settings) + learned
    (workdir / "lstm.toml").write_text(given, "utf-8")
    assert headway("train", "lstm.toml", "--out", "lstm")[0] == 0
    code, stdout, _ = headway("evaluate", "lstm", "--json")
    assert code == 0
    assert json.loads(stdout)["metrics"]["loss"]["value"] < 1.6


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            "order = 9\n",
            "model: model.order = 9 needs a sequence of at least 9 tokens, the end token included, "
            "and the longest of the training data has 4; set model.order to 4 or less",
        ),
        (
            "order = 3\nskips = true\n",
            "model: model.skips is for the second order and model.order is 3; "
            "set model.order = 2 or model.skips = false",
        ),
        (
            "selective = true\n",
            "model: model.selective chooses among the votes of earlier words, which exist only "
            "with skips; set model.skips = true or model.selective = false",
        ),
    ],
)
def test_what_cannot_be_counted_leaves_nothing_behind(settings, message, fails, workdir):
    (workdir / "short.txt").write_text("abc\nb\n\n", "utf-8")
    (workdir / "short.toml").write_text(
        'task = "language"\ndata.train = "short.txt"\ntext.kind = "characters"\n'
        f'[model]\nfamily = "markov"\n{settings}',
        "utf-8",
    )
    assert fails(2, "train", "short.toml", "--out", "short") == message
    assert not (workdir / "short").exists()


def test_a_markov_chain_does_not_translate(fails, workdir):
    (workdir / "pairs.toml").write_text(
        'data.train = "pairs.tsv"\nmodel.family = "markov"\n', "utf-8"
    )
    message = fails(2, "train", "pairs.toml", "--out", "no")
    assert "step; model.family = 'markov' does not fit, use one of transf" in message

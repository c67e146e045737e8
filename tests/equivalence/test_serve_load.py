"""Programs that load a server: answers are judged by offline translation, even if workers die."""

import importlib
import json
import sys
from pathlib import Path

import pytest
from planned_figures import planned_figures

import headway

FOLDER = Path(__file__).parents[2] / "benchmarks"
RUN = """
task = "translate"
[data]
train = "pairs.tsv"
[text]
kind = "characters"
[model]
d_model = 32
d_ff = 32
n_heads = 2
encoder_layers = 1
decoder_layers = 1
[train]
steps = 60
batch_tokens = 256
lr = 5e-3
"""
WORDS = ["abc", "cab", "bca", "bac", "acb", "cba", "aab", "bbc", "cca", "abab", "caca"]


@pytest.fixture(scope="module", autouse=True)
def _benchmarks():
    sys.path.insert(0, str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))


@pytest.fixture(scope="module")
def bench():
    return importlib.import_module("serve_load")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("load")
    (folder / "pairs.tsv").write_text("".join(f"{w}\t{w[::-1]}\n" for w in WORDS * 4))
    (folder / "test.txt").write_text("".join(f"{w}\n" for w in WORDS))
    (folder / "run.toml").write_text(RUN)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(folder / "cache"))
        headway.train(headway.read_config(folder / "run.toml"), folder / "run")
    return folder


def test_every_kind_of_answer_is_told_apart(bench, run):
    judge = bench.Judge(run / "run", WORDS[:2])
    right = judge.right[1]
    answer = {"row": 1, "source": WORDS[1], "text": right.text, "score": right.score}
    answers = [
        answer,
        {**answer, "source": None},
        {**answer, "text": "other", "score": right.score + 1e-5},
        {**answer, "text": "other", "score": right.score - 1},
        {**answer, "text": "other", "score": None},
        {**answer, "source": WORDS[0]},
    ]
    judge(bench.OURS, 8, answers)
    counts = {"same": 2, "tie": 1, "wrong": 2, "mixed": 1, "lost": 2}
    assert judge.counts == {bench.OURS: counts}
    assert judge.checked(bench.OURS) == 8
    assert bench.faults({bench.OURS: counts, bench.ALONE: counts}) == 10


def test_answers_are_right_while_workers_are_killed(run, capsys):
    program = importlib.import_module("serve_answers")
    arguments = [str(run / "run"), "--source", str(run / "test.txt"), "--clients", "8"]
    arguments += ["--answers", "150", "--seconds", "2", "--kill-seconds", "0.4"]
    assert program.main(arguments) == 0
    line = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert line["name"] == "serve_answers"
    assert line["checked"]["same"] + line["checked"]["tie"] == line["answers"] >= 150
    assert line["killed"] > 0


@pytest.mark.slow
def test_the_program_ends_with_a_line_of_json(bench, run, capsys):
    arguments = [str(run / "run"), "--source", str(run / "test.txt"), "--clients", "1", "32"]
    assert bench.main([*arguments, "--seconds", "3", "--rounds", "1", "--enough", "200"]) == 0
    line = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert line["name"] == "serve_load"
    assert set(line["ratios"]) == {
        f"headway/{peer} at {clients} clients"
        for peer in (bench.ALONE, bench.HF)
        for clients in (1, 32)
    }
    assert all(value > 0 for value in line["ratios"].values())
    assert sum(line["checked"][bench.OURS].values()) >= 200
    assert float(planned_figures("serve_load", line)["unbatched"]) > 0

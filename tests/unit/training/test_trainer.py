"""Runs that start from another run, fail at the start, or have moved data."""

import shutil
import sys
from dataclasses import replace

import pytest
import torch
from training_cases import SMALL, Recorder, config_of

from headway import api
from headway.data.codecs.text import TextConfig
from headway.data.config import Corpus, DataConfig
from headway.errors import ConfigError, DataError, MissingExtra, RunError
from headway.runs import RunDir
from headway.search import SearchConfig
from headway.training.config import TrainConfig


def adapted(folder, **changes):
    """A run file with `init`, without model and text."""
    plain = api.RunConfig(config_of(folder).data)
    fresh = {"text": plain.text, "model": plain.model, "init": str(folder / "first")}
    return config_of(folder, **(fresh | changes))


def test_init_starts_from_the_other_runs_weights_model_and_vocabulary(folder):
    first = api.train(config_of(folder), folder / "first")
    second = api.train(adapted(folder), folder / "second")
    assert second.config.model == first.config.model
    assert second.config.text == first.config.text
    initial = RunDir.open(folder / "second").load_init()
    kept, _ = RunDir.open(folder / "first").load_weights()
    assert initial.keys() == kept.keys()
    assert all(torch.equal(initial[name], kept[name]) for name in kept)
    after, _ = RunDir.open(folder / "second").load_weights()
    assert any(not torch.equal(after[name], kept[name]) for name in kept)


def test_a_run_that_was_started_from_another_does_not_need_it_any_more(folder):
    api.train(config_of(folder), folder / "first")
    api.train(adapted(folder), folder / "second")
    expected, _ = RunDir.open(folder / "second").load_weights()
    (folder / "first").rename(folder / "away")
    for path in (folder / "second" / "checkpoints").iterdir():
        for file in path.iterdir():
            file.unlink()
        path.rmdir()
    api.resume(folder / "second")
    again, _ = RunDir.open(folder / "second").load_weights()
    assert all(torch.equal(again[name], expected[name]) for name in expected)


def test_init_brings_its_vocabulary(folder):
    api.train(config_of(folder), folder / "first")
    with pytest.raises(ConfigError, match=r"brings its vocabulary, so \[text\] cannot be set"):
        api.train(adapted(folder, text=TextConfig(kind="bytes")), folder / "second")
    assert not (folder / "second").exists()


def test_an_init_that_does_not_fit_is_refused_and_leaves_nothing_behind(folder):
    api.train(config_of(folder), folder / "first")
    wider = replace(SMALL, d_model=16)
    with pytest.raises(ConfigError, match="does not fit the model: "):
        api.train(adapted(folder, model=wider), folder / "second")
    assert not (folder / "second").exists()


def test_a_mistake_in_the_data_leaves_nothing_behind(folder):
    data = replace(config_of(folder).data, train="pears.tsv")
    with pytest.raises(DataError, match=r"did you mean pairs\.tsv\?"):
        api.train(config_of(folder, data=data), folder / "run")
    assert not (folder / "run").exists()


def test_an_absent_tensorboard_is_found_before_anything_is_made(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    settings = TrainConfig(steps=4, tensorboard=True)
    with pytest.raises(MissingExtra, match="needs the package 'tensorboard'"):
        api.train(config_of(folder, train=settings), folder / "run")
    assert not (folder / "run").exists()
    assert not (folder / "cache").exists()


def test_moved_data_are_found_again_and_changed_ones_refused(folder):
    config = config_of(folder, train=TrainConfig(steps=4, evaluate_every=2, batch_tokens=32))
    api.train(config, folder / "run")
    (folder / "data").rename(folder / "moved")
    with pytest.raises(DataError, match="does not exist"):
        api.resume(folder / "run")
    api.resume(folder / "run", data_root=folder / "moved")
    with open(folder / "moved" / "pairs.tsv", "a", encoding="utf-8") as file:
        file.write("q\tq\n")
    with pytest.raises(RunError, match=r"changed since .* started; restore the files"):
        api.resume(folder / "run")


def test_lost_weights_are_written_again_from_the_best_checkpoint(folder):
    api.train(config_of(folder), folder / "run")
    expected, before = RunDir.open(folder / "run").load_weights()
    (folder / "run" / "model.safetensors").unlink()
    api.resume(folder / "run")
    again, after = RunDir.open(folder / "run").load_weights()
    assert after == before
    assert all(torch.equal(again[name], expected[name]) for name in expected)


def test_a_learning_rate_that_explodes_is_said_in_words(folder):
    settings = TrainConfig(steps=40, lr=1e30, clip=0.0, warmup=0, optimizer="sgd", batch_tokens=32)
    with pytest.raises(RunError, match=r"not a finite number at step \d+; train again with"):
        api.train(config_of(folder, train=settings), folder / "run")


@pytest.mark.parametrize(("weights", "answer"), [((2.0, 0.25), "y"), ((0.25, 2.0), "n")])
def test_a_corpus_is_learned_from_as_often_as_its_weight_says(folder, weights, answer):
    for letter in "yn":
        text = "".join(f"{a}{b}\t{letter}\n" for a in "abcd" for b in "wxyz")
        (folder / "data" / f"{letter}.tsv").write_text(text, encoding="utf-8")
    corpora = [Corpus(file=f"{x}.tsv", weight=w) for x, w in zip("yn", weights, strict=True)]
    data = DataConfig(train=corpora, root=str(folder / "data"))
    settings = TrainConfig(epochs=10, lr=1e-2, batch_tokens=16, accumulate=1)
    model = api.train(config_of(folder, data=data, train=settings), folder / "run")
    run = RunDir.open(folder / "run")
    progress = run.load_checkpoint(run.checkpoints()[-1]).state["progress"]
    # Twice and a quarter of 16 examples, each a letter and the end token.
    assert progress["tokens"] == pytest.approx(10 * 2 * (2 * 16 + 16 // 4), abs=16)
    assert {output.text for output in model.translate(["aw", "bx", "dz"])} == {answer}


@pytest.mark.parametrize(
    "search",
    [
        SearchConfig(method="sample", temperature=5.0, n_best=9),
        SearchConfig(method="exhaustive", max_nodes=20),
    ],
    ids=lambda search: search.method,
)
def test_validation_is_greedy_whatever_outputs_are_searched_by(folder, search):
    api.train(config_of(folder), folder / "usual")
    api.train(config_of(folder, search=search), folder / "other")
    usual, other = (
        [
            record["samples"]
            for record in RunDir.open(folder / name).log.read()
            if "samples" in record
        ]
        for name in ("usual", "other")
    )
    assert len(usual) == 2
    assert other == usual


def test_truncated_weights_of_a_finished_run_are_written_again_by_resuming(folder):
    """The message about them names the command that helps."""
    api.train(config_of(folder), folder / "run")
    path = folder / "run" / "model.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[:-4])
    with pytest.raises(RunError, match=rf"or write it with `headway resume {folder / 'run'}`$"):
        api.load(folder / "run")
    api.resume(folder / "run")
    assert path.read_bytes() == whole


def interrupted(folder):
    """A finished run set back to its first checkpoint, and its weights."""
    settings = TrainConfig(epochs=3, evaluate_every=2, batch_tokens=32, accumulate=1)
    api.train(config_of(folder, train=settings), folder / "run")
    run = RunDir.open(folder / "run")
    weights = (run.path / "model.safetensors").read_bytes()
    for step in run.checkpoints()[1:]:
        shutil.rmtree(run.checkpoint_folder / f"step-{step}")
    (run.path / "model.safetensors").unlink()
    return run, weights


def damage(path, content):
    path.unlink()
    if content is not None:
        path.write_bytes(content)


@pytest.mark.parametrize("is_listed", [True, False])
@pytest.mark.parametrize("content", [None, b"", b"[]", b'{"steps": "x"}', b'{"x": 1}', b"{}"])
def test_a_damaged_plan_is_made_again_exactly(folder, content, is_listed):
    run, weights = interrupted(folder)
    before = run.read_json("plan.json")
    if not is_listed:
        (run.path / "manifest.json").unlink()
    damage(run.path / "plan.json", content)
    display = Recorder()
    api.resume(run.path, display)
    assert f"{run.path}/plan.json is missing or damaged; planned from run.toml" in display.notes
    assert run.read_json("plan.json") == before
    assert (run.path / "model.safetensors").read_bytes() == weights


def test_a_plan_damaged_before_the_first_checkpoint_is_made_anew(folder):
    run, weights = interrupted(folder)
    shutil.rmtree(run.checkpoint_folder)
    (run.path / "plan.json").write_text("{}")
    display = Recorder()
    api.resume(run.path, display)
    assert f"{run.path}/plan.json is missing or damaged; planned anew" in display.notes
    assert (run.path / "model.safetensors").read_bytes() == weights


def test_a_plan_that_contradicts_the_run_file(folder):
    run, _ = interrupted(folder)
    (run.path / "manifest.json").unlink()
    text = run.read_text("run.toml")
    (run.path / "run.toml").write_text(text.replace("warmup = 1", "warmup = 3"))
    with pytest.raises(RunError) as caught:
        api.resume(run.path)
    assert str(caught.value) == (
        f"train.warmup is 3 in {run.path}/run.toml and 1 in plan.json; restore the file that was "
        "changed"
    )


@pytest.mark.parametrize("is_listed", [True, False])
@pytest.mark.parametrize("content", [None, b"", b"[]", b"{}"])
def test_without_a_record_of_the_data_resuming_is_inexact(folder, content, is_listed):
    run, weights = interrupted(folder)
    before = run.read_text("data.json")
    if not is_listed:
        (run.path / "manifest.json").unlink()
    damage(run.path / "data.json", content)
    with pytest.raises(RunError, match="inexact=True"):
        api.resume(run.path)
    api.resume(run.path, inexact=True)
    assert run.read_text("data.json") == before
    assert (run.path / "model.safetensors").read_bytes() == weights


def test_a_damaged_log_is_cut_with_a_note_and_the_run_stays_usable(folder):
    run, weights = interrupted(folder)
    lines = (run.path / "log.jsonl").read_bytes().splitlines(keepends=True)
    (run.path / "log.jsonl").write_bytes(b"".join([lines[0], b"x", *lines[1:]]))
    display = Recorder()
    api.resume(run.path, display)
    assert f"{run.path}/log.jsonl is damaged; left out: line 2" in display.notes
    assert (run.path / "model.safetensors").read_bytes() == weights
    assert run.log.read()[-1]["finished"] is True


def test_missing_initial_weights_are_not_replaced_by_random_ones(folder):
    api.train(config_of(folder), folder / "first")
    api.train(adapted(folder), folder / "second")
    (folder / "second" / "init.safetensors").unlink()
    with pytest.raises(RunError, match=r"has no init.safetensors, the weights it started from; "):
        api.resume(folder / "second")

"""Facts of a run directory: finished, stopped, just begun, and the validation it judges best."""

import json
import shutil
from dataclasses import replace

import pytest

from headway.data.config import Corpus
from headway.errors import RunError
from headway.inspection.run_info import _files, best_validation, info
from headway.run_config import load_run_config
from headway.runs import RunDir


@pytest.fixture
def run(folder, tmp_path):
    """A copy of a finished run."""
    shutil.copytree(folder / "pre", tmp_path / "pre")
    return RunDir.open(tmp_path / "pre")


def log(run, *records):
    """Replaces the log; without manifest nobody minds."""
    (run.path / "manifest.json").unlink(missing_ok=True)
    run.write_text("log.jsonl", "".join(json.dumps(record) + "\n" for record in records))


def test_a_finished_run(run, folder, translator):
    facts = info(run)
    assert (facts["run"], facts["task"]) == (str(run.path), "translate")
    assert facts["model"]["d_model"] == 16
    assert facts["parameters"] == sum(p.numel() for p in translator.model.parameters())
    assert (facts["steps"]["done"], facts["steps"]["planned"]) == (80, 80)
    assert facts["steps"]["finished"] is True
    assert facts["weights"]["step"] == int(run.load_weights()[1]["step"])
    assert facts["format"] == run.format
    assert facts["headway"] == run.version
    assert facts["facts"] == run.facts
    json.dumps(facts)


def test_files_are_named_as_in_the_run_file(run, folder):
    data = info(run)["data"]
    assert data["root"] == str(folder)
    assert data["train"]["files"] == data["test"]["files"] == ["pairs.tsv"]
    assert data["train"]["key"] is not None
    assert "valid" not in data
    (run.path / "data.json").unlink()
    with pytest.raises(RunError, match=r"has no data.json; restore it from a copy"):
        info(run)
    (run.path / "manifest.json").unlink()  # as in older runs
    assert info(run)["data"]["train"]["key"] is None


def test_columns_in_files_of_their_own_are_all_named():
    assert _files(Corpus(source="a.en", target="a.de")) == ["a.en", "a.de"]
    assert _files(Corpus(text="a.txt")) == ["a.txt"]
    assert _files(Corpus(file="a.tsv", source=1, target=2)) == ["a.tsv"]


def test_a_stopped_run_is_as_far_as_its_last_checkpoint(run):
    last = run.checkpoints()[-1]
    log(run, {"step": 3, "minutes": 0.5}, {"step": last + 9, "minutes": 2.0}, {"note": "x"})
    steps = info(run)["steps"]
    assert (steps["done"], steps["minutes"], steps["finished"]) == (last, 0.5, False)
    shutil.rmtree(run.checkpoint_folder)
    steps = info(run)["steps"]
    assert (steps["done"], steps["minutes"]) == (0, 0.0)


def test_a_run_without_weights(run):
    (run.path / "model.safetensors").unlink()
    facts = info(run)
    assert facts["weights"] is None
    assert facts["parameters"] > 0, "sizes are decided, so that they can be counted"
    shutil.rmtree(run.codecs)
    facts = info(run)
    assert (facts["vocabulary"], facts["parameters"]) == (None, None)


def test_an_imported_run_has_no_planned_steps(run):
    run.record_facts({**run.facts, "imported_from": "elsewhere"})
    assert info(run)["steps"]["planned"] == 0


def with_metric(run, metric):
    config = load_run_config(run)
    return replace(config, train=replace(config.train, metric=metric))


@pytest.mark.parametrize(
    ("metric", "value", "step"), [("loss", 0.5, 20), ("exact", 40.0, 20), ("ter", 30.0, 30)]
)
def test_the_best_validation_is_the_first_of_equals(run, metric, value, step):
    log(
        run,
        {"step": 5, "loss": 0.1},
        {"step": 10, "valid_loss": 0.9, "exact": 10.0, "ter": 90.0},
        {"step": 20, "valid_loss": 0.5, "exact": 40.0, "ter": 60.0},
        {"step": 30, "valid_loss": 0.5, "exact": 40.0, "ter": 30.0},
        {"step": 40, "valid_loss": 0.7, "exact": 20.0, "ter": 30.0},
    )
    best = best_validation(run, with_metric(run, metric))
    assert best == {"metric": metric, "value": value, "step": step}


def test_without_validations_none_is_best(run):
    log(run, {"step": 5, "loss": 0.1})
    assert best_validation(run, with_metric(run, "loss")) is None
    assert info(run)["best"] is None


def test_the_loss_decides_between_equal_validations(run):
    records = [(1, 0.0, 3.0), (2, 0.0, 1.0), (3, 0.0, 2.0)]
    log(run, *({"step": s, "bleu": bleu, "valid_loss": loss} for s, bleu, loss in records))
    config = load_run_config(run)
    by_bleu = replace(config, train=replace(config.train, metric="bleu"))
    assert best_validation(run, by_bleu)["step"] == 2

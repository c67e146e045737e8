"""Training for a study: files in its folder, runs that are used again, failures."""

from dataclasses import replace

import pytest
from quick_plans import plan_few_updates

from headway.errors import RunError
from headway.studies.learned import train_models
from headway.studies.lookup import make_lookups
from headway.studies.recall import RecallSizes, run_file
from headway.training.progress import Silent

SIZES = RecallSizes((8, 9), (8, 9), (), 40, n_valid=4, n_test=4, d_model=8)
MINUTES = 0.01


@pytest.fixture(scope="module")
def data():
    return make_lookups(1, SIZES.n_train, SIZES.n_valid, SIZES.n_test, SIZES.trained, SIZES.within)


@pytest.fixture(autouse=True)
def quick(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWAY_CACHE", str(tmp_path / "cache"))
    plan_few_updates(monkeypatch)


def test_the_files_of_a_study_and_its_runs(tmp_path, data):
    out = tmp_path / "study"
    run_files = {"GRU + attention": run_file("GRU + attention", SIZES, 1)}
    runs = train_models(out, run_files, data, MINUTES, Silent())
    assert list(runs) == ["GRU + attention"]
    assert (out / "gru-attention.toml").is_file()
    assert len((out / "data-seed1" / "train.tsv").read_text().splitlines()) == 40
    [run] = runs.values()
    assert run.run == out / "runs" / "gru-attention-seed1"
    assert run.steps >= 1
    assert run.parameters == sum(p.numel() for p in run.model.model.parameters())
    assert run.to_dict() == {
        "run": str(run.run),
        "steps": run.steps,
        "minutes": run.minutes,
        "parameters": run.parameters,
    }

    weights = run.run / "model.safetensors"
    written = weights.stat().st_mtime_ns
    again = train_models(out, run_files, data, MINUTES, Silent())
    assert weights.stat().st_mtime_ns == written  # nothing is trained twice
    assert again["GRU + attention"].steps == run.steps


def test_a_failed_training_is_named(tmp_path, data):
    config = run_file("GRU", SIZES, 1)
    run_files = {"GRU": replace(config, data=replace(config.data, train="absent.tsv"))}
    with pytest.raises(RunError, match=r"^gru could not be trained: .*absent\.tsv"):
        train_models(tmp_path / "study", run_files, data, MINUTES, Silent())

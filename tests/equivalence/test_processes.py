"""Two processes = one: the same losses for the same global batch, dropout on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from equivalence_cases import equivalence, is_family
from equivalence_runs import RUNNING, logged, total_loss, write_data, write_run_file

import headway
from headway import api
from headway.runs import RunDir

TRAIN = {
    "steps": 6,
    "evaluate_every": 2,
    "batch_tokens": 256,
    "accumulate": 2,
    "warmup": 2,
    "lr": 1e-3,
    "ema": 0.5,
}


def torchrun(folder, run_file, out, overrides=()):
    source = Path(headway.__file__).parents[1]
    known = os.environ.get("PYTHONPATH", "")
    surroundings = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "HEADWAY_CACHE": str(folder / "cache"),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(source), known])),
    }
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [
        sys.executable,
        *torchrun,
        "-m",
        "headway",
        "train",
        str(run_file),
        *overrides,
        "--out",
        str(out),
    ]
    return subprocess.run(
        command, env=surroundings, capture_output=True, text=True, timeout=500, check=False
    )


def check_two_processes_are_one(case, tmp_path, monkeypatch, overrides=()):
    monkeypatch.setenv("HEADWAY_CACHE", str(tmp_path / "cache"))
    write_data(tmp_path)
    run_file = write_run_file(tmp_path, case, TRAIN)
    done = torchrun(tmp_path, run_file, tmp_path / "two", overrides)
    assert done.returncode == 0, done.stderr
    assert RunDir.open(tmp_path / "two").facts["processes"] == 2
    api.train(api.read_config(run_file, overrides), tmp_path / "one")

    one, two = logged(tmp_path / "one", "valid_loss"), logged(tmp_path / "two", "valid_loss")
    assert list(one) == [2, 4, 6]
    assert two == pytest.approx(one, abs=1e-5)
    loss = total_loss(tmp_path / "one")
    assert total_loss(tmp_path / "two") / 6 == pytest.approx(loss / 6, abs=1e-5)
    norms = [logged(tmp_path / name, "norm")[6] for name in ("one", "two")]
    assert norms[0] == pytest.approx(norms[1], rel=1e-4)
    assert one[2] != pytest.approx(one[6], abs=1e-3)  # it did learn something meanwhile


def learns_to_write(case):
    """Families, and one more whose pooler gets no gradient."""
    return not case.counts and (is_family(case) or case.name == "unilm bert")


@equivalence("procs", "step", "score", only=learns_to_write)
def test_two_processes_are_one(case, tmp_path, monkeypatch):
    check_two_processes_are_one(case, tmp_path, monkeypatch)


@equivalence("procs", only=lambda case: case.name == "decoder")
def test_two_processes_cut_running_text_as_one(case, tmp_path, monkeypatch):
    check_two_processes_are_one(case, tmp_path, monkeypatch, RUNNING)
    assert RunDir.open(tmp_path / "two").load_checkpoint(6).state["progress"]["epoch"] > 0


@equivalence("procs", "step", "score", only=lambda c: is_family(c) and c.counts)
def test_of_two_processes_one_counts(case, tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWAY_CACHE", str(tmp_path / "cache"))
    write_data(tmp_path)
    run_file = write_run_file(tmp_path, case, {})
    done = torchrun(tmp_path, run_file, tmp_path / "two")
    assert done.returncode == 0, done.stderr
    api.train(api.read_config(run_file), tmp_path / "one")
    one, two = (RunDir.open(tmp_path / name).load_weights()[0] for name in ("one", "two"))
    assert one.keys() == two.keys()
    assert all(torch.equal(one[name], two[name]) for name in one)
    for name in ("valid_loss", "samples"):
        assert logged(tmp_path / "one", name) == logged(tmp_path / "two", name)

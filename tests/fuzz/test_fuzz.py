"""Damaged inputs of every kind are read, or refused with one line; nothing hangs or runs out.

`make test` tries a few of each kind, always the same ones; `make fuzz` tries 20,000 of each, or as
many as `FUZZ` says, from the seed `FUZZ_SEED`.
"""

import os

import pytest
from fuzz_kinds import kinds
from fuzz_processes import fuzz

from headway.parallel import n_cores

SAMPLE = 200
KINDS = ("run-files", "data-files", "series-files", "folders", "glossaries", "requests")


def run(name, tmp_path, monkeypatch, n_inputs, workers):
    monkeypatch.setenv("HEADWAY_CACHE", str(tmp_path / "cache"))
    kind = kinds()[name]
    kind.prepare(tmp_path)
    outcomes = fuzz(kind, int(os.environ.get("FUZZ_SEED", "1")), n_inputs, workers)
    report = "\n".join(outcomes.report())
    print(report)
    assert outcomes.n_inputs == n_inputs
    if outcomes.failures:
        pytest.fail(report, pytrace=False)


@pytest.mark.parametrize("name", KINDS)
def test_a_sample(name, tmp_path, monkeypatch):
    run(name, tmp_path, monkeypatch, SAMPLE, workers=1)


@pytest.mark.fuzz
@pytest.mark.parametrize("name", KINDS)
def test_many(name, tmp_path, monkeypatch):
    n_inputs = int(os.environ.get("FUZZ", "20000"))
    run(name, tmp_path, monkeypatch, n_inputs, workers=n_cores())

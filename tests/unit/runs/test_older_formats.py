"""Run directories of older formats, read with the current names."""

import json

import pytest

from headway.runs import RunDir
from headway.runs.older_formats import METRICS, renamed


def test_a_run_of_format_1_keeps_its_format_and_has_todays_names_of_metrics(run: RunDir) -> None:
    """`wer` of format 1 is `ser` now; a resumed log contains both."""
    header = {"format": 1, "headway": "0.1.0", "facts": {"torch": "2"}}
    (run.path / "headway.json").write_text(json.dumps(header))
    (run.path / "manifest.json").unlink()  # format 1 had none
    run.write_text("run.toml", "")
    old = RunDir.open(run.path)
    old.log.cut(-1, pytest.fail)
    old.log.append({"step": 1, "wer": 50.0, "bleu": 3.0})
    old.log.append({"step": 2, "ser": 40.0})
    assert old.log.read() == [
        {"step": 1, "ser": 50.0, "bleu": 3.0},
        {"step": 2, "ser": 40.0},
    ]
    old.record_facts({"torch": "3"})
    assert json.loads((run.path / "headway.json").read_text())["format"] == 1
    assert RunDir.open(run.path).log.read() == old.log.read()
    new = RunDir.create(run.path.parent / "new", {}, "")
    new.log.append({"step": 1, "wer": 50.0})
    assert RunDir.open(new.path).log.read() == [{"step": 1, "wer": 50.0}]


def test_other_keys_stay_as_they_are() -> None:
    record = {"step": 1, "wer": 2.0, "samples": [["wer", "a", "b"]]}
    assert renamed(record, {}) == record
    assert renamed(record, METRICS[1]) == {"step": 1, "ser": 2.0, "samples": [["wer", "a", "b"]]}

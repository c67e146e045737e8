"""A run with two checkpoints, on a disk without sync."""

from pathlib import Path

import pytest
from runs_support import tensors_of

from headway.runs import RunDir


@pytest.fixture(autouse=True)
def fast_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No waiting for the disk: a kill, unlike a power cut, loses nothing that was written."""
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    """A run with checkpoints 10 and 20, weights, codecs and a log of three steps."""
    run = RunDir.create(tmp_path / "run", {"torch": "2.13"})
    run.write_text("run.toml", 'task = "translate"\n')
    with run.writing_codecs() as folder:
        (folder / "tokenizer.json").write_text("old")
    for step in (10, 20, 30):
        run.log.append({"step": step})
    for step in (10, 20):
        run.save_checkpoint(step, tensors_of(step), {"value": step}, keep=5)
    run.save_weights(tensors_of(20), "best", 20)
    return run

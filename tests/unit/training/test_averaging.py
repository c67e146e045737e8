"""Averaging the checkpoints of a run."""

import os
import signal

import pytest
import torch

from headway import api
from headway.data.codecs.text import TextConfig
from headway.data.config import DataConfig
from headway.errors import RunError
from headway.models.recurrent import RecurrentConfig
from headway.runs import RunDir
from headway.training import loop
from headway.training.averaging import average
from headway.training.config import TrainConfig
from headway.training.progress import Silent
from headway.training.stop_signals import Interrupted


class Stopping(Silent):
    """Stops the run after five updates."""

    def update(self, step, total, figures):
        if step == 5:
            os.kill(os.getpid(), signal.SIGTERM)


@pytest.fixture
def stopped(tmp_path, monkeypatch):
    """A run with checkpoints of the steps 2, 4 and, from an interruption, 5."""
    monkeypatch.setenv("HEADWAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(loop, "LOG_SECONDS", 0.0)  # every update is shown
    (tmp_path / "pairs.tsv").write_text("".join(f"{a}\t{a}\n" for a in "abcdef"), "utf-8")
    config = api.RunConfig(
        data=DataConfig(train="pairs.tsv", root=str(tmp_path)),
        text=TextConfig(kind="characters"),
        model=RecurrentConfig(d_model=8),
        train=TrainConfig(steps=8, evaluate_every=2, batch_tokens=8, keep=9),
    )
    with pytest.raises(Interrupted):
        api.train(config, tmp_path / "run", Stopping())
    assert RunDir.open(tmp_path / "run").checkpoints() == [2, 4, 5]
    return tmp_path / "run"


def test_checkpoints_of_interruptions_do_not_count(stopped, tmp_path):
    assert average(stopped, 2, tmp_path / "out") == [2, 4]
    tensors, metadata = RunDir.open(tmp_path / "out").load_weights()
    assert metadata == {"rule": "average of steps 2, 4", "step": "4"}
    run = RunDir.open(stopped)
    two, four = (run.load_checkpoint(step).tensors for step in (2, 4))
    for name, value in tensors.items():
        expected = (two[f"model.{name}"].double() + four[f"model.{name}"].double()) / 2
        assert torch.equal(value, expected.float())


def test_more_than_there_are(stopped, tmp_path):
    with pytest.raises(RunError) as caught:
        average(stopped, 3, tmp_path / "out")
    assert str(caught.value) == (
        f"{stopped} has 2 regular checkpoints: steps 2, 4; the last 3 cannot be averaged; choose "
        "fewer, or train with a larger train.keep"
    )
    assert not (tmp_path / "out").exists()

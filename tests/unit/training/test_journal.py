"""The journal: log.jsonl always, TensorBoard on request."""

import sys
from types import ModuleType

import pytest

from headway.errors import MissingExtra
from headway.runs import RunDir
from headway.training.journal import Journal


@pytest.fixture
def run(tmp_path):
    return RunDir.create(tmp_path / "run", {})


class Writer:
    """A fake of TensorBoard's writer that records its calls."""

    def __init__(self, folder, purge_step):
        self.folder, self.purge_step, self.scalars, self.is_closed = folder, purge_step, [], False
        Writer.last = self

    def add_scalar(self, name, value, step):
        self.scalars.append((name, value, step))

    def close(self):
        self.is_closed = True


def test_records_go_to_the_log_with_their_step(run):
    journal = Journal(run, tensorboard=False, step=0)
    journal.append(3, {"loss": 1.5, "samples": [["a", "b", "c"]]})
    journal.close()
    assert run.log.read() == [{"step": 3, "loss": 1.5, "samples": [["a", "b", "c"]]}]


def test_numbers_go_to_tensorboard_too_from_the_step_after_the_checkpoint(run, monkeypatch):
    board = ModuleType("torch.utils.tensorboard")
    board.SummaryWriter = Writer
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", board)
    journal = Journal(run, tensorboard=True, step=7)
    journal.append(8, {"loss": 1.5, "samples": []})
    journal.close()
    assert Writer.last.purge_step == 8
    assert Writer.last.scalars == [("loss", 1.5, 8)]
    assert Writer.last.is_closed
    assert run.log.read() == [{"step": 8, "loss": 1.5, "samples": []}]


def test_an_absent_tensorboard_says_what_to_install(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(MissingExtra) as caught:
        Journal(run, tensorboard=True, step=0)
    assert str(caught.value) == (
        "train.tensorboard = true needs the package 'tensorboard', which is not installed; "
        "pip install 'headway-attention[tensorboard]'"
    )

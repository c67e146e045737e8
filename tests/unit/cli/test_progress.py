"""Training from the command line: signals, and the summary at the end."""

import os
import signal
from pathlib import Path

import pytest

from headway.cli import progress
from headway.cli.progress import display_for, show_training
from headway.training.stop_signals import Interrupted


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_there_is_a_run(tmp_path, number):
    with pytest.raises(Interrupted) as caught, display_for(tmp_path):
        signal.raise_signal(number)
    assert str(caught.value) == "stopped before the run started"
    assert caught.value.exit_code == 128 + number


def test_a_signal_names_the_command_that_continues_the_run(tmp_path):
    out = tmp_path / "my run"
    out.mkdir()
    (out / "run.toml").touch()
    with pytest.raises(Interrupted) as caught, display_for(out):
        signal.raise_signal(signal.SIGTERM)
    assert str(caught.value).endswith(f": headway resume '{out}'")


def test_the_handler_of_sigterm_is_put_back(tmp_path):
    before = signal.getsignal(signal.SIGTERM)
    with display_for(tmp_path):
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before
    with pytest.raises(ValueError, match="wrong"), display_for(tmp_path):
        raise ValueError("wrong")
    assert signal.getsignal(signal.SIGTERM) == before


def test_the_display_is_closed_whatever_happens(tmp_path, monkeypatch):
    closed = []

    class Display:
        def close(self):
            closed.append(self)

    monkeypatch.setattr("headway.training.progress.make_display", Display)
    with display_for(tmp_path) as display:
        pass
    with pytest.raises(ValueError, match="wrong"), display_for(tmp_path):
        raise ValueError("wrong")
    assert len(closed) == 2
    assert closed[0] is display


@pytest.mark.parametrize(("rank", "speaks"), [(None, True), ("0", True), ("1", False)])
def test_the_first_of_several_processes_prints_the_result(monkeypatch, rank, speaks):
    monkeypatch.delenv("RANK", raising=False)
    if rank is not None:
        monkeypatch.setitem(os.environ, "RANK", rank)
    results, work = [], []
    monkeypatch.setattr(progress, "_print_summary", lambda *arguments: results.append(arguments))
    show_training(Path("run"), work.append, as_json=True)
    assert len(work) == 1
    assert results == ([(Path("run"), True)] if speaks else [])

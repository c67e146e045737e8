"""`headway import`: its output and its notes."""

import json
from pathlib import Path

import pytest

from headway.cli import main
from headway.interop.import_model import Imported


@pytest.fixture
def calls(monkeypatch):
    """The arguments of imports, which are replaced by a result with one note."""
    calls = []

    def import_run(folder, out, pairs):
        calls.append((folder, out, pairs))
        return Imported(out, "BERT", "classify", 1_234_567, ("the pooler was left out",))

    monkeypatch.setattr("headway.interop.import_model.import_run", import_run)
    return calls


def test_one_line_and_the_notes_on_standard_error(calls, capsys):
    assert main(["import", "models/bert", "--out", "run"]) == 0
    assert capsys.readouterr() == (
        "run: BERT, 1,234,567 parameters, task classify\n",
        "the pooler was left out\n",
    )
    assert calls == [(Path("models/bert"), Path("run"), False)]


def test_json(calls, capsys):
    assert main(["import", "models/bert", "--out", "run", "--pairs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "run": "run",
        "layout": "BERT",
        "task": "classify",
        "parameters": 1_234_567,
        "notes": ["the pooler was left out"],
    }
    assert calls[0][2] is True


def test_a_folder_that_is_no_model(tmp_path, capsys):
    assert main(["import", str(tmp_path), "--out", str(tmp_path / "run")]) != 0
    stdout, stderr = capsys.readouterr()
    assert stdout == ""
    assert stderr.startswith(f"headway: error: {tmp_path}")
    assert "config.json" in stderr
    assert not (tmp_path / "run").exists()

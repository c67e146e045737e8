"""`headway resume` as a user runs it: a stopped run continues, a finished one is reported."""

import json
import re
import signal
from pathlib import Path

from cli_workdir import start


def test_a_finished_run_is_reported_in_json(headway, trained):
    code, stdout, _ = headway("resume", "run", "--inexact", "--json")
    assert code == 0
    result = json.loads(stdout)
    assert result["run"] == "run"
    assert result["steps"]["done"] == result["steps"]["planned"] == 40
    assert result["steps"]["finished"] is True
    assert Path(result["report"]).is_file()


def test_interrupted_training_says_how_to_continue(workdir):
    process = start("train", "run.toml", "train.steps=100000", "--out", "stopped", cwd=workdir)
    progress = []
    for line in process.stderr:
        progress.append(line)
        if "validation:" in line:
            break
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=300)
    assert process.returncode == 130, "".join(progress) + stderr
    assert stdout == ""
    stopped = re.search(r"^headway: error: stopped at step (\d+) of 100000, saved; ", stderr, re.M)
    assert stderr.splitlines()[-1].endswith("continue with: headway resume stopped")
    assert "Traceback" not in stderr
    process = start("resume", "stopped", cwd=workdir)
    for line in process.stderr:
        if line.startswith("continuing"):
            break
    assert line == f"continuing after step {stopped[1]} of 100000\n"
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 143
    assert "headway resume stopped" in stderr.splitlines()[-1]

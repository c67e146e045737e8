"""`headway info` as a user runs it: finished runs, and runs without weights."""

import json
import re


def test_a_finished_run(headway, trained, workdir):
    code, stdout, _ = headway("info", "run")
    assert code == 0
    for line in (
        r"model: +transformer, d_model 16, ",
        r"parameters: +[\d,]+$",
        r"vocabulary: +1\d words, shared$",
        r"  train: +train\.src, train\.tgt \(key [0-9a-f]{32}\)$",
        r"updates: +40 of 40, .+, finished; checkpoints: 16, 32, 40$",
        r"weights: +best by exact, step (16|32|40)$",
        r"made with: +headway .+, torch .+, threads \d+, device cpu",
        r"format: +2$",
    ):
        assert re.search("^" + line, stdout, re.MULTILINE), line
    facts = json.loads(headway("info", "run", "--json")[1])
    assert facts["steps"]["planned"] == 40
    assert facts["parameters"] > 0
    assert set(facts["data"]) == {"root", "train", "valid", "test"}


def test_a_run_without_weights(headway, workdir, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("headway.tasks.translate.fit_codecs", stopped)
    assert headway("train", "run.toml", "--out", "started")[0] == 130
    code, stdout, _ = headway("info", "started")
    assert code == 0
    assert re.search(r"^parameters: +not decided yet$", stdout, re.MULTILINE)
    assert re.search(r"^weights: +none yet$", stdout, re.MULTILINE)
    code, _, stderr = headway("translate", "started", "test.src")
    assert code == 1
    assert "started has no weights yet" in stderr

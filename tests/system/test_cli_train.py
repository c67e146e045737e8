"""`headway train` as a user runs it: what it prints, and what it refuses."""

import os
import re
import sys
from pathlib import Path

import pytest
from cli_workdir import start


def test_train_says_where_the_run_is_and_what_to_type_next(workdir):
    process = start("train", "run.toml", "--out", "said", cwd=workdir)
    stdout, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr
    assert re.search(r"^run: +said \(40 updates", stdout, re.MULTILINE)
    assert re.search(
        r"^best: +exact [0-9.]+ on validation, at step (16|32|40)$", stdout, re.MULTILINE
    )
    assert "headway translate said" in stdout
    assert "headway evaluate said" in stdout
    assert "headway resume" not in stdout
    assert "step 40/40" in stderr
    assert "60 examples" in stderr
    page = re.search(r"^report: +(.+)$", stdout, re.MULTILINE)[1]
    assert (workdir / page).read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_interrupted_before_the_first_update(headway, workdir, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("headway.tasks.translate.fit_codecs", stopped)
    code, _, stderr = headway("train", "run.toml", "--out", "early")
    assert code == 130
    assert stderr.splitlines()[-1].endswith("error: stopped; continue with: headway resume early")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("train.learning_rat=1", "unknown key train.learning_rat"),
        ("trian.lr=1", "unknown key trian; did you mean train?"),
        ("model.n_heads=3", "d_model=16 is not divisible by n_heads=3; try n_heads=4"),
        ("train.lr", "'train.lr' has no '='"),
        ("train.metric=blue", "train.metric = 'blue': expected one of auto, loss, bleu"),
    ],
)
def test_wrong_settings(fails, override, message):
    assert message in fails(2, "train", "run.toml", override, "--out", "never")
    assert not Path("never").exists()


def test_a_typo_in_the_run_file_is_named(fails, workdir, tmp_path):
    file = tmp_path / "typo.toml"
    file.write_text((workdir / "run.toml").read_text().replace("n_heads", "n_haeds"))
    message = fails(2, "train", str(file), "--out", "never")
    assert message == f"{file}: unknown key model.n_haeds; did you mean model.n_heads?"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ('data.train.source="trian.src"', "trian.src; did you mean train.src?"),
        ("text={kind='bpe', size=5000}", "size=5000"),
    ],
)
def test_data_that_do_not_fit(fails, tmp_path, override, message):
    out = str(tmp_path / "out")
    code = 2 if "size" in override else 1
    assert message in fails(code, "train", "run.toml", override, "--out", out)


def test_a_line_too_many(fails, workdir, tmp_path):
    (workdir / "longer.tgt").write_text((workdir / "train.tgt").read_text() + "one\n")
    message = fails(
        1, "train", "run.toml", 'data.train.target="longer.tgt"', "--out", str(tmp_path / "out")
    )
    assert message.startswith("train.src ends after line 60 while longer.tgt goes on; ")


def test_folders_that_are_not_empty(fails, trained, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    message = fails(1, "train", "run.toml", "--out", str(tmp_path))
    assert message == f"{tmp_path} is not empty (it holds notes.txt); choose another --out"
    message = fails(1, "train", "run.toml", "--out", "run")
    assert message.startswith("run already holds a run; continue it with `headway resume run`")


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="every file name is text there")
def test_a_folder_whose_name_is_no_text(fails, workdir, monkeypatch):
    folder = workdir / os.fsdecode(b"latin\xe9")
    folder.mkdir()
    (folder / "run.toml").write_text((workdir / "run.toml").read_text())
    monkeypatch.chdir(folder)
    assert fails(2, "train", "run.toml", "--out", "new") == (
        f"data.root is {str(folder)!r}, which is not UTF-8, and a run file is; rename the folder"
    )

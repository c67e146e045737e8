"""Every change of a file that a run is loaded from is noticed, and no kill is taken for one."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from runs_support import kill_everywhere

from headway.errors import RunError
from headway.runs import RunDir


def message_of_open(run: RunDir) -> str:
    with pytest.raises(RunError) as caught:
        RunDir.open(run.path)
    return str(caught.value)


def test_a_run_file_edited_by_hand(run: RunDir) -> None:
    (run.path / "run.toml").write_text("task = 'tag'\n")
    assert message_of_open(run) == (
        f"{run.path}/run.toml was changed (it has 13 bytes, headway wrote 19); restore it from a "
        f"copy, or if you changed only [search], delete {run.path}/manifest.json; other settings "
        "need a new run"
    )
    (run.path / "manifest.json").unlink()
    assert RunDir.open(run.path).read_text("run.toml") == "task = 'tag'\n"


def test_one_flipped_bit_of_a_tokenizer(run: RunDir) -> None:
    (run.codecs / "tokenizer.json").write_text("ole")
    assert message_of_open(run).startswith(
        f"{run.codecs}/tokenizer.json was changed (its digest is not that of the file headway "
        "wrote); restore it from a copy"
    )


def test_a_missing_file(run: RunDir) -> None:
    (run.codecs / "tokenizer.json").unlink()
    assert message_of_open(run).startswith(f"{run.codecs}/tokenizer.json is missing; restore it")
    shutil.rmtree(run.codecs)
    assert message_of_open(run).startswith(f"{run.codecs}/tokenizer.json is missing; restore it")


def test_a_file_that_headway_did_not_write(run: RunDir) -> None:
    (run.codecs / "texts.json").write_text("[]")
    assert message_of_open(run) == (
        f"{run.codecs}/texts.json is not a file of this run (manifest.json lists none); remove it, "
        f"or if the change is yours, delete {run.path}/manifest.json"
    )


def test_other_files_may_lie_in_the_directory(run: RunDir) -> None:
    (run.path / "notes.txt").write_text("mine")
    RunDir.open(run.path)


@pytest.mark.parametrize("name", ["run.toml", "headway.json", "codecs/tokenizer.json"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_no_file_at_all(run: RunDir, name: str, make: Callable[[Path], None]) -> None:
    (run.path / name).unlink()
    make(run.path / name)
    text = message_of_open(run)
    assert text.startswith(f"{run.path / name} ")
    assert "restore it from a copy" in text


def test_files_that_only_resuming_needs_are_checked_when_they_are_read(run: RunDir) -> None:
    run.write_text("plan.json", '{"steps": 1}')
    (run.path / "plan.json").write_text('{"steps": 9}')
    after = RunDir.open(run.path)
    with pytest.raises(RunError, match=r"plan.json was changed \(its digest is not that of"):
        after.read_json("plan.json")
    (run.path / "plan.json").unlink()
    assert after.expects("plan.json")
    with pytest.raises(RunError, match=r"has no plan.json; restore it from a copy"):
        after.read_json("plan.json")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "Expecting value"),
        ("[]", "a JSON list, not an object"),
        ("[" * 99_999, "nested more than 64 deep"),
    ],
)
def test_json_of_a_run_without_manifest(run: RunDir, text: str, problem: str) -> None:
    (run.path / "plan.json").write_text(text)
    (run.path / "manifest.json").unlink()
    with pytest.raises(RunError, match=rf"plan.json is damaged \(.*{problem}.*\); restore it from"):
        RunDir.open(run.path).read_json("plan.json")


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b"[]", b"{}", b"[" * 99_999, b'{"files": [], "blake2b": ""}']
)
def test_a_damaged_manifest(run: RunDir, content: bytes) -> None:
    (run.path / "manifest.json").write_bytes(content)
    assert message_of_open(run) == (
        f"{run.path}/manifest.json is damaged; restore it from a copy, or delete it to use the "
        "other files unchecked"
    )


def test_a_flipped_bit_of_the_manifest_is_not_blamed_on_another_file(run: RunDir) -> None:
    text = (run.path / "manifest.json").read_text()
    table = json.loads(text)
    digest = table["files"]["run.toml"][0]["blake2b"]
    changed = text.replace(digest, digest[:-1] + ("0" if digest[-1] != "0" else "1"))
    (run.path / "manifest.json").write_text(changed)
    assert "manifest.json is damaged" in message_of_open(run)


def test_a_run_without_manifest_gets_one_with_its_next_change(run: RunDir) -> None:
    (run.path / "manifest.json").unlink()
    run.write_text("plan.json", "{}")
    RunDir.open(run.path)
    (run.codecs / "tokenizer.json").write_text("ole")
    assert "tokenizer.json was changed" in message_of_open(run)


def test_using_a_run_without_manifest_makes_none(run: RunDir) -> None:
    (run.path / "manifest.json").unlink()
    with RunDir.open(run.path).lock():
        run.write_text("report.html", "")
    assert not (run.path / "manifest.json").exists()


def test_codecs_that_replace_others(run: RunDir) -> None:
    with run.writing_codecs() as folder:
        (folder / "labels.json").write_text("[]")
    RunDir.open(run.path)
    (run.codecs / "tokenizer.json").write_text("old")
    assert "tokenizer.json is not a file of this run" in message_of_open(run)


def test_after_a_kill_only_the_version_that_is_there_is_accepted(run: RunDir) -> None:
    run.write_text("plan.json", "old")

    def write(path: Path) -> None:
        run = RunDir.open(path)
        with run.lock():
            run.write_text("plan.json", "new")

    for _, path in kill_everywhere(run.path, write):
        after = RunDir.open(path)
        with after.lock():
            now = after.read_text("plan.json")
        assert now in ("old", "new")
        (path / "plan.json").write_text("new" if now == "old" else "old")
        with pytest.raises(RunError, match="was changed"):
            after.read_text("plan.json")
        shutil.rmtree(path)


def test_a_reader_meets_a_writer(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer replaces the file after the reader has read the manifest."""
    run.write_text("plan.json", '{"steps": 1}')
    reader, seen = RunDir.open(run.path), []
    read = Path.read_bytes

    def interrupted(path: Path) -> bytes:
        if path.name == "plan.json" and not seen:
            seen.append(path)
            run.write_text("plan.json", '{"steps": 2}')
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", interrupted)
    assert reader.read_json("plan.json") == {"steps": 2}

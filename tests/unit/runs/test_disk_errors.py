"""A full, read-only or forbidden disk: a message of one line, and unchanged files."""

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from runs_support import snapshot, tensors_of
from safetensors import SafetensorError

from headway.errors import RunError
from headway.runs import RunDir
from headway.runs.disk_errors import format_bytes

FREE = 2_500_000


@pytest.fixture(autouse=True)
def known_free_space(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "tiny_disk" not in request.fixturenames:
        usage = type("Usage", (), {"free": FREE})
        monkeypatch.setattr("shutil.disk_usage", lambda path: usage)


def fail_with(code: int) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    return fail


def rust_failure(*_: object, **__: object) -> None:
    raise SafetensorError(
        "Error while serializing: I/O error: No space left on device (os error 28)"
    )


def write_codec(run: RunDir) -> None:
    with run.writing_codecs() as folder:
        (folder / "tokenizer.json").write_text("new")


WRITES: dict[str, Callable[[RunDir], None]] = {
    "checkpoints/step-30": lambda run: run.save_checkpoint(30, tensors_of(30), {}, keep=1),
    "checkpoints/step-20": lambda run: run.save_checkpoint(20, tensors_of(30), {}, keep=1),
    "model.safetensors": lambda run: run.save_weights(tensors_of(30), "best", 30),
    "report.html": lambda run: run.write_text("report.html", "new"),
    "headway.json": lambda run: run.record_facts({}),
    "codecs": write_codec,
}
CALLS = ["os.fsync", "os.replace", "pathlib.Path.mkdir"]


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("call", CALLS)
def test_a_full_disk_anywhere_leaves_everything_as_it_was(
    run: RunDir, monkeypatch: pytest.MonkeyPatch, name: str, call: str
) -> None:
    before = snapshot(run.path)
    monkeypatch.setattr(call, fail_with(errno.ENOSPC))
    if name.startswith("checkpoints"):
        monkeypatch.setattr("headway.runs.log.RunLog.seal", lambda log: None)
    with pytest.raises(RunError) as caught:
        WRITES[name](run)
    monkeypatch.undo()
    text = str(caught.value)
    assert text.startswith(f"cannot write {run.path / name} (no space left on device: ")
    assert "2.5 MB free); checkpoint step-20 is still good; free some space, then " in text
    assert text.endswith(f"`headway resume {run.path}`")
    assert "\n" not in text
    assert snapshot(run.path) == before
    assert not list(run.path.rglob(".*"))


def test_the_message_of_a_full_disk_during_a_checkpoint(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.runs.tensors.save_file", rust_failure)
    with pytest.raises(RunError) as caught:
        run.save_checkpoint(30, {"a": torch.zeros(1_000_000)}, {}, keep=1)
    assert str(caught.value) == (
        f"cannot write {run.path}/checkpoints/step-30 (no space left on device: 4.0 MB needed, "
        "2.5 MB free); checkpoint step-20 is still good; free some space, then "
        f"`headway resume {run.path}`"
    )
    assert run.checkpoints() == [10, 20]


def test_only_a_checkpoint_that_is_whole_is_called_good(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run.checkpoint_folder / "step-20" / "state.json").write_text("{}")
    monkeypatch.setattr("os.replace", fail_with(errno.EDQUOT))
    with pytest.raises(RunError, match=r"quota exceeded: .* free\); checkpoint step-10 is still"):
        run.write_text("report.html", "")


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_a_forbidden_directory(run: RunDir, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    monkeypatch.setattr("os.replace", fail_with(code))
    with pytest.raises(RunError) as caught:
        run.write_text("report.html", "")
    assert str(caught.value) == (
        f"cannot write {run.path}/report.html ({os.strerror(code).lower()}); checkpoint step-20 "
        f"is still good; make {run.path} writable, then `headway resume {run.path}`"
    )


def test_a_broken_disk(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", fail_with(errno.EIO))
    with pytest.raises(RunError, match=r"\(input/output error\); .*; check the disk, then `head"):
        run.write_text("report.html", "")


def test_a_start_on_a_full_disk_is_given_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.replace", fail_with(errno.ENOSPC))
    with pytest.raises(RunError) as caught:
        RunDir.create(tmp_path / "run", {})
    assert str(caught.value).endswith(
        "2.5 MB free); there is no checkpoint yet; free some space, then run the same command again"
    )
    monkeypatch.undo()
    RunDir.create(tmp_path / "run", {})


def test_a_lock_that_cannot_be_written(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins.open", fail_with(errno.EROFS))
    with pytest.raises(RunError, match=r"write .*/lock \(read-only file system\)"), run.lock():
        pass


def test_an_error_in_the_work_under_the_lock_is_not_blamed_on_the_lock(run: RunDir) -> None:
    with pytest.raises(FileNotFoundError), run.lock():
        (run.path / "absent").read_text()


def test_mistakes_of_the_program_stay_what_they_are(run: RunDir) -> None:
    with pytest.raises(ZeroDivisionError), run.writing_codecs():
        1 / 0  # noqa: B018


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("may not mount a small disk")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def fill(disk: Path) -> None:
    with suppress(OSError), open(disk / "filler", "wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def test_a_truly_full_disk(tiny_disk: Path) -> None:
    run = RunDir.create(tiny_disk / "run", {})
    run.write_text("run.toml", "")
    run.save_checkpoint(1, tensors_of(1), {}, keep=1)
    run.save_weights(tensors_of(1), "best", 1)
    before = snapshot(run.path)
    with pytest.raises(RunError, match=r"1\.2 MB needed, 1\.0 MB free\); checkpoint step-1 is st"):
        run.save_checkpoint(2, {"a": torch.zeros(300_000)}, {}, keep=1)
    with pytest.raises(
        RunError, match=r"model.safetensors \(no space left on device: 1\.2 MB need"
    ):
        run.save_weights({"a": torch.zeros(300_000)}, "best", 2)
    with pytest.raises(RunError, match=r"report.html \(no space left on device: 2\.0 MB needed"):
        run.write_text("report.html", "a" * 2_000_000)
    assert snapshot(run.path) == before
    fill(tiny_disk)
    with pytest.raises(RunError, match=r"0 bytes free\); checkpoint step-1 is still good"):
        run.save_checkpoint(2, tensors_of(2), {}, keep=1)
    assert snapshot(run.path) == before
    (tiny_disk / "filler").unlink()
    run.save_checkpoint(2, tensors_of(2), {}, keep=1)
    assert run.checkpoints() == [2]


def test_a_log_on_a_truly_full_disk_keeps_whole_lines(tiny_disk: Path) -> None:
    run = RunDir.create(tiny_disk / "run", {})
    run.log.append({"step": 1})
    with pytest.raises(RunError, match=r"log.jsonl \(no space left on device: 2\.0 MB needed"):
        run.log.append({"text": "a" * 2_000_000})
    run.log.append({"step": 2})
    assert run.log.read() == [{"step": 1}, {"step": 2}]


def test_codecs_written_by_a_rust_library_on_a_truly_full_disk(tiny_disk: Path) -> None:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel

    vocabulary = {"a" * 100 + str(index): index for index in range(20_000)}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="a"))
    run = RunDir.create(tiny_disk / "run", {})
    full = r"codecs \(no space left on device: .* free\); there is no checkpoint yet"
    with pytest.raises(RunError, match=full), run.writing_codecs() as folder:
        tokenizer.save(str(folder / "tokenizer.json"))
    assert not run.codecs.exists()


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (1549, "1.5 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (2_000_000_000, "2.0 GB"),
        (5 * 10**15, "5000.0 TB"),
    ],
)
def test_sizes_have_units(size: int, words: str) -> None:
    assert format_bytes(size) == words

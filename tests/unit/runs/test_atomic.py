import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from headway.runs import atomic


def test_a_directory_appears_with_all_its_files(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "folder"
    with atomic.replacing_directory(target) as staging:
        (staging / "a").write_text("1")
        assert not target.exists()
    assert (target / "a").read_text() == "1"
    assert os.listdir(target.parent) == ["folder"]


def test_a_directory_takes_the_place_of_another(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with atomic.replacing_directory(tmp_path / "folder") as staging:
            (staging / name).write_text(name)
    assert os.listdir(tmp_path / "folder") == ["b"]
    assert os.listdir(tmp_path) == ["folder"]


@pytest.mark.parametrize("failure", [OSError, KeyboardInterrupt])
def test_a_failure_changes_nothing(tmp_path: Path, failure: type[BaseException]) -> None:
    atomic.write_bytes(tmp_path / "file", b"old")

    def write_half(path: Path) -> None:
        path.write_bytes(b"ne")
        raise failure

    with pytest.raises(failure), atomic.replacing_file(tmp_path / "file") as path:
        write_half(path)
    with pytest.raises(failure), atomic.replacing_directory(tmp_path / "folder") as path:
        write_half(path / "file")
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_a_directory_that_cannot_be_renamed_leaves_the_former_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with atomic.replacing_directory(tmp_path / "folder") as staging:
        (staging / "a").write_text("old")
    replace = os.replace

    def refuse_new(source: Path, target: Path) -> None:
        if Path(source).name.startswith(".new-"):
            raise OSError("not this one")
        replace(source, target)

    monkeypatch.setattr(os, "replace", refuse_new)
    with (
        pytest.raises(OSError, match="not this one"),
        atomic.replacing_directory(tmp_path / "folder"),
    ):
        pass
    assert os.listdir(tmp_path) == ["folder"]
    assert (tmp_path / "folder" / "a").read_text() == "old"


def test_sweep_removes_leftovers_and_restores_what_was_being_replaced(tmp_path: Path) -> None:
    for name in (".new-a", ".gone-b", ".old-c", ".old-d", "d", "e"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "content").write_text(name)
    atomic.sweep(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["c", "d", "e"]
    assert (tmp_path / "c" / "content").read_text() == ".old-c"
    assert (tmp_path / "d" / "content").read_text() == "d"
    atomic.sweep(tmp_path / "absent")


def test_files_keep_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    atomic.write_bytes(tmp_path / "file", b"")
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="asks /proc which file is meant")
def test_everything_is_on_the_disk_before_it_is_renamed_and_the_rename_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    replace = os.replace

    def recorded_replace(source: Path, target: Path) -> None:
        events.append(f"rename to {Path(target).name}")
        replace(source, target)

    monkeypatch.setattr(
        "os.fsync", lambda number: events.append(Path(f"/proc/self/fd/{number}").readlink().name)
    )
    monkeypatch.setattr("os.replace", recorded_replace)
    with atomic.replacing_directory(tmp_path / "folder") as staging:
        (staging / "a").write_text("")
    assert events == ["a", ".new-folder", "rename to folder", tmp_path.name]
    events.clear()
    atomic.write_bytes(tmp_path / "file", b"")
    assert events == ["file", "rename to file", tmp_path.name]
    events.clear()
    atomic.make_directory(tmp_path / "x" / "y")
    assert events == ["x", tmp_path.name]


def test_windows_cannot_open_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []

    def open_file(path: Path, flags: int) -> int:
        assert not path.is_dir()
        assert flags == os.O_RDWR  # Windows cannot sync a file that is open for reading only
        opened.append(path.name)
        return os.open(path, flags)

    windows = SimpleNamespace(**{**vars(os), "name": "nt", "open": open_file})
    monkeypatch.setattr(atomic, "os", windows)
    atomic.write_bytes(tmp_path / "deep" / "file", b"new")
    with atomic.replacing_directory(tmp_path / "folder") as staging:
        (staging / "a").write_text("1")
    assert (tmp_path / "deep" / "file").read_bytes() == b"new"
    assert (tmp_path / "folder" / "a").read_text() == "1"
    assert opened

import json
import os
import shutil
from pathlib import Path

import pytest
import torch
from runs_support import kill_everywhere, snapshot

from headway.errors import RunError
from headway.runs import RunDir


def message_of_open(path: Path) -> str:
    with pytest.raises(RunError) as caught:
        RunDir.open(path)
    return str(caught.value)


def message_of_create(path: Path) -> str:
    before = snapshot(path)
    with pytest.raises(RunError) as caught:
        RunDir.create(path, {})
    assert snapshot(path) == before
    return str(caught.value)


def test_what_was_created_can_be_opened(tmp_path: Path) -> None:
    path = tmp_path / "some" / "where"
    created = RunDir.create(str(path), {"torch": "2.13", "threads": 2})
    created.write_text("run.toml", "x = 'für'\r\n")
    opened = RunDir.open(str(path))
    assert opened.facts == {"torch": "2.13", "threads": 2}
    assert opened.version == created.version
    assert opened.read_text("run.toml") == "x = 'für'\r\n"
    assert json.loads((path / "headway.json").read_text())["format"] == 2


def test_an_empty_directory_may_become_a_run(tmp_path: Path) -> None:
    RunDir.create(tmp_path, {})
    assert sorted(os.listdir(tmp_path)) == ["headway.json", "lock", "manifest.json"]


def test_facts_can_be_recorded_anew(run: RunDir) -> None:
    run.record_facts({"torch": "3"})
    assert run.facts == RunDir.open(run.path).facts == {"torch": "3"}


def test_create_refuses_a_run(run: RunDir) -> None:
    assert message_of_create(run.path) == (
        f"{run.path} already holds a run; continue it with `headway resume {run.path}`, "
        "or choose another `out`"
    )


def test_create_refuses_foreign_files_and_leaves_no_trace(tmp_path: Path) -> None:
    for name in ("a.txt", ".new-b"):
        (tmp_path / name).write_text("mine")
    assert message_of_create(tmp_path) == (
        f"{tmp_path} is not empty (it holds .new-b, a.txt); choose another `out`"
    )
    for name in ("c", "d"):
        (tmp_path / name).write_text("mine")
    assert "(it holds .new-b, a.txt, c, ...)" in message_of_create(tmp_path)
    assert not (tmp_path / "lock").exists()


def test_create_refuses_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        assert message_of_create(path) == f"{path} is not a directory; choose another `out`"


def test_create_refuses_a_place_somebody_is_starting_in(tmp_path: Path) -> None:
    first = RunDir.create(tmp_path, {})
    with first.lock():
        assert f"is being written by process {os.getpid()}" in message_of_create(tmp_path)


def test_open_says_what_is_wrong_with_the_place(tmp_path: Path) -> None:
    hint = "give the directory that was `out` in training"
    path = tmp_path / "x"
    assert message_of_open(path) == f"{path} does not exist; {hint}"
    path.write_text("")
    assert message_of_open(path) == f"{path} is a file; {hint}"
    foreign = f"{tmp_path} is not a run directory (it has no headway.json); {hint}"
    assert message_of_open(tmp_path) == foreign
    path.unlink()
    assert message_of_open(tmp_path) == foreign
    (tmp_path / "config.json").write_text("{}")
    remedy = "make a run of a Hugging Face model with `headway import`"
    assert message_of_open(tmp_path) == foreign.replace(hint, remedy)


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b'{"format": 1}',
        b'{"format": "1", "headway": "1", "facts": {}}',
        b'{"format": 0, "headway": "1", "facts": {}}',
        b'{"format": 1, "headway": 1, "facts": {}}',
        b'{"format": 1, "headway": "1", "facts": []}',
    ],
)
def test_a_damaged_header(run: RunDir, header: bytes) -> None:
    (run.path / "headway.json").write_bytes(header)
    assert message_of_open(run.path) == (
        f"{run.path}/headway.json is damaged; restore it from a copy, "
        "or train again with another `out`"
    )


def test_a_format_of_the_future(run: RunDir) -> None:
    header = {"format": 3, "headway": "9.1", "new": "things"}
    (run.path / "headway.json").write_text(json.dumps(header))
    assert message_of_open(run.path) == (
        f"{run.path} has format 3, written by headway 9.1; this headway ({run.version}) "
        "reads formats up to 2; install headway 9.1 or newer"
    )


def test_texts_that_are_missing_or_damaged(run: RunDir) -> None:
    with pytest.raises(RunError) as caught:
        run.read_text("report.html")
    assert str(caught.value) == (
        f"{run.path} has no report.html; restore it from a copy, or train again with another `out`"
    )
    (run.path / "run.toml").write_bytes(b"ab\xff")
    (run.path / "manifest.json").unlink()
    with pytest.raises(RunError, match=r"run.toml is damaged \(byte 2 is not UTF-8\); restore"):
        run.read_text("run.toml")


def test_a_killed_start_is_recognised_and_taken_over(tmp_path: Path) -> None:
    def start(path: Path) -> None:
        RunDir.create(path, {"n": 1}).write_text("run.toml", "text")

    kinds = set()
    for point, path in kill_everywhere(tmp_path / "run", start):
        if (path / "run.toml").exists():
            assert RunDir.open(path).read_text("run.toml") == "text"
            kinds.add("run")
            continue
        if path.exists() and os.listdir(path):
            assert message_of_open(path) == (
                f"{path} holds a run that was stopped before it started; train into it again"
            ), point
            kinds.add("begun")
        run = RunDir.create(path, {"n": 2})
        run.write_text("run.toml", "again")
        assert RunDir.open(path).facts == {"n": 2}
        assert sorted(os.listdir(path)) == ["headway.json", "lock", "manifest.json", "run.toml"]
    assert kinds == {"run", "begun"}


def test_codecs_are_there_only_when_all_are_written(run: RunDir) -> None:
    def write_half(folder: Path) -> None:
        (folder / "tokenizer.json").write_text("new")
        raise KeyError

    with pytest.raises(KeyError), run.writing_codecs() as folder:
        write_half(folder)
    assert (run.codecs / "tokenizer.json").read_text() == "old"
    shutil.rmtree(run.codecs)
    with run.writing_codecs() as folder:
        (folder / "labels.json").write_text("[]")
        assert not run.codecs.exists()
    assert os.listdir(run.codecs) == ["labels.json"]


def test_a_kill_leaves_the_old_file_or_the_new(run: RunDir) -> None:
    def write_all(path: Path) -> None:
        run = RunDir.open(path)
        with run.lock():
            run.log.cut(20, pytest.fail)
            with run.writing_codecs() as folder:
                (folder / "tokenizer.json").write_text("new")
            run.write_text("report.html", "new")
            run.write_text("plan.json", "{}")
            run.record_facts({"torch": "3"})

    seen = set()
    for point, path in kill_everywhere(run.path, write_all):
        after = RunDir.open(path)
        with after.lock():
            assert not list(path.glob(".*")), point
        steps = [record["step"] for record in after.log.read()]
        codec = (after.codecs / "tokenizer.json").read_text()
        plan = after.read_json("plan.json") if after.expects("plan.json") else None
        report = (path / "report.html").exists()
        seen.add((len(steps), codec, report, plan is not None, after.facts["torch"]))
        shutil.rmtree(path)
    assert seen == {
        (3, "old", False, False, "2.13"),
        (2, "old", False, False, "2.13"),
        (2, "new", False, False, "2.13"),
        (2, "new", True, False, "2.13"),
        (2, "new", True, True, "2.13"),
        (2, "new", True, True, "3"),
    }


def test_a_calibration_is_saved_and_loaded(run: RunDir) -> None:
    assert run.load_calibration() == {}
    tensors = {"interval.0.9": torch.ones(3, 2), "ridge.weight": torch.zeros(1)}
    run.save_calibration(tensors)
    loaded = RunDir.open(run.path).load_calibration()
    assert loaded.keys() == tensors.keys()
    assert all(torch.equal(loaded[name], tensors[name]) for name in tensors)
    run.save_calibration({})
    assert run.load_calibration() == {}


def test_a_damaged_calibration_names_the_remedy(run: RunDir) -> None:
    run.save_calibration({"interval.0.9": torch.ones(3, 2)})
    path = run.path / "calibration.safetensors"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(RunError) as caught:
        run.load_calibration()
    message = str(caught.value)
    assert message.startswith(str(path))
    assert f"restore it from a copy, or write it with `headway resume {run.path}`" in message


def test_a_killed_write_leaves_a_whole_calibration(tmp_path: Path) -> None:
    RunDir.create(tmp_path / "run", {}).save_calibration({"a": torch.zeros(9)})

    def save(folder: Path) -> None:
        RunDir.open(folder).save_calibration({"a": torch.ones(9)})

    seen = set()
    for _, copy in kill_everywhere(tmp_path / "run", save):
        [value] = set(RunDir.open(copy).load_calibration()["a"].tolist())
        seen.add(value)
    assert seen == {0.0, 1.0}

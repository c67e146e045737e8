import json
import math
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.errors import RunError
from headway.runs import RunLog

RECORDS = st.lists(
    st.fixed_dictionaries({"text": st.text()}, optional={"step": st.integers(0, 9) | st.none()}),
    max_size=8,
)


def fail(warning: str) -> None:
    raise AssertionError(warning)


@pytest.fixture
def log(tmp_path: Path) -> RunLog:
    return RunLog(tmp_path / "log.jsonl")


def test_an_absent_log_is_empty_and_can_be_cut(log: RunLog) -> None:
    assert log.read() == []
    log.cut(5, fail)
    log.seal()
    assert not log.path.exists()


def test_records_come_back_one_per_line(log: RunLog) -> None:
    records: list[dict[str, object]] = [
        {"step": 1, "loss": 0.1 + 0.2},
        {"sample": "für\nmich\u2028\x85"},
        {},
    ]
    for record in records:
        log.append(record)
    assert log.read() == records
    assert log.path.read_bytes().count(b"\n") == 3
    assert "für" in log.path.read_text(encoding="utf-8")


def test_a_diverged_loss_comes_back(log: RunLog) -> None:
    log.append({"loss": math.inf, "norm": math.nan})
    (record,) = log.read()
    assert record["loss"] == math.inf
    assert math.isnan(record["norm"])


def test_a_torn_last_line_is_not_read_and_is_cut(log: RunLog) -> None:
    log.append({"step": 1})
    log.path.write_bytes(log.path.read_bytes() + b'{"step": 2}')
    assert log.read() == [{"step": 1}]
    log.cut(9, fail)
    assert log.path.read_bytes() == b'{"step": 1}\n'


@pytest.mark.parametrize("line", [b"{", b"[1]", b"\xff", b"", b'{"step": "2"}', b"[" * 99_999])
def test_a_damaged_line_is_named_and_cut(log: RunLog, line: bytes) -> None:
    log.path.write_bytes(b"{}\n" + line + b"\n{}\n")
    with pytest.raises(RunError) as caught:
        log.read()
    assert str(caught.value) == (
        f"{log.path}:2 is not a JSON object with a step; delete that line and try again"
    )
    warnings: list[str] = []
    log.cut(1, warnings.append)
    assert warnings == [f"{log.path} is damaged; left out: line 2"]
    assert log.read() == [{}, {}]


def damage_log(log: RunLog, damage: str) -> None:
    content = log.path.read_bytes()
    log.path.unlink()
    if damage == "changed":
        log.path.write_bytes(content.replace(b"1.5", b"1.7"))
    elif damage == "cut":
        log.path.write_bytes(content.splitlines(keepends=True)[0])
    elif damage == "doubled":
        log.path.write_bytes(content.splitlines(keepends=True)[0] + content)
    elif damage == "pipe":
        os.mkfifo(log.path)


@pytest.mark.parametrize(
    ("damage", "warning"),
    [
        ("changed", "was changed or cut off; its 2 lines stay as they are"),
        ("cut", "was changed or cut off; its 1 lines stay as they are"),
        ("doubled", "was changed or cut off; its 3 lines stay as they are"),
        ("removed", "is missing or empty; continuing without its records"),
        ("pipe", "is missing or empty; continuing without its records"),
    ],
)
def test_damage_before_the_last_checkpoint_is_noticed(
    log: RunLog, damage: str, warning: str
) -> None:
    log.append({"step": 1, "loss": 1.5})
    log.append({"step": 2})
    log.seal()
    damage_log(log, damage)
    with pytest.raises(RunError, match=r"restore it from a copy"):
        log.read()
    warnings: list[str] = []
    log.cut(2, warnings.append)
    assert warnings[-1] == f"{log.path} {warning}"
    log.append({"step": 3})
    assert log.read()[-1] == {"step": 3}


def test_lines_after_the_last_checkpoint_may_be_lost(log: RunLog) -> None:
    log.append({"step": 1})
    log.seal()
    log.append({"step": 2})
    log.path.write_bytes(b'{"step": 1}\n')
    assert log.read() == [{"step": 1}]


def test_a_cut_that_drops_nothing_does_not_touch_the_file(log: RunLog) -> None:
    log.append({"step": 3})
    before = log.path.stat().st_ino
    log.cut(3, fail)
    assert log.path.stat().st_ino == before


@settings(deadline=None)  # touches the disk
@given(RECORDS, st.integers(-1, 9), st.integers(0, 40))
def test_cut_leaves_exactly_what_was_known_at_the_checkpoint(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[dict[str, object]],
    step: int,
    torn: int,
) -> None:
    log = RunLog(tmp_path_factory.mktemp("log") / "log.jsonl")
    for record in records:
        log.append(record)
    assert log.read() == records
    with open(log.path, "ab") as file:
        file.write(json.dumps({"step": 0, "text": "a" * 40}).encode()[:torn])
    log.cut(step, fail)
    expected = [r for r in records if r.get("step") is None or r["step"] <= step]  # type: ignore
    assert log.read() == expected
    log.append({"step": step})
    assert log.read() == [*expected, {"step": step}]

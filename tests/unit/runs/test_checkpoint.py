import json
import math
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from runs_support import kill_everywhere, tensors_of

from headway.errors import RunError
from headway.runs import RunDir, checkpoint


def no_warning(text: str) -> None:
    raise AssertionError(text)


def flip(path: Path, byte: int, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[byte] ^= 1 << bit
    path.write_bytes(content)


def test_every_kind_of_tensor_comes_back_bit_for_bit(run: RunDir) -> None:
    base = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    tensors = {
        "float": torch.tensor([math.nan, -0.0, math.inf, 1e-45, 0.1]),
        "half": torch.randn(5, generator=torch.Generator().manual_seed(0)).bfloat16(),
        "int": torch.tensor([2**62, -1]),
        "bool": torch.tensor([True, False]),
        "bytes": torch.arange(255, dtype=torch.uint8),
        "scalar": torch.tensor(3.5, dtype=torch.float64),
        "empty": torch.zeros(0, 3),
        "empty too": torch.zeros(0),
        "whole": base,
        "same": base,
        "part": base[1:],
        "transposed": base.T,
        "parameter": torch.nn.Parameter(base.clone()),
    }
    run.save_checkpoint(30, tensors, {}, keep=1)
    loaded = run.latest_checkpoint(no_warning)
    assert loaded is not None
    assert loaded.tensors.keys() == tensors.keys()
    for name, tensor in tensors.items():
        other = loaded.tensors[name]
        assert (other.dtype, other.shape) == (tensor.dtype, tensor.shape)
        ours, theirs = (t.detach().contiguous().reshape(-1) for t in (tensor, other))
        assert torch.equal(ours.view(torch.uint8), theirs.view(torch.uint8)), name


NUMBERS = st.floats() | st.integers() | st.booleans() | st.none()


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.text(), st.recursive(NUMBERS | st.text(), st.lists, max_leaves=5)))
def test_the_state_comes_back_exactly(state: dict[str, object]) -> None:
    # repr distinguishes NaN, -0.0, 1 and 1.0, True and 1, which == does not.
    assert repr(json.loads(checkpoint.encode_state(state))) == repr(state)


def test_a_state_that_would_change_is_refused(run: RunDir) -> None:
    with pytest.raises(TypeError, match=r"state\['a'\]\[1\] has the key 3; JSON keys must be"):
        run.save_checkpoint(30, {}, {"a": [0, {3: 1}]}, keep=1)
    with pytest.raises(TypeError):
        run.save_checkpoint(30, {}, {"a": torch.tensor(1)}, keep=1)
    assert run.checkpoints() == [10, 20]


def test_none_is_none(tmp_path: Path) -> None:
    run = RunDir.create(tmp_path / "run", {})
    assert run.checkpoints() == []
    assert run.latest_checkpoint(no_warning) is None


def test_steps_are_ordered_as_numbers_and_foreign_names_ignored(run: RunDir) -> None:
    run.save_checkpoint(9, {}, {}, keep=9)
    for name in ("step-x", "step-007", "step-", "notes"):
        (run.checkpoint_folder / name).mkdir()
    assert run.checkpoints() == [9]
    run.save_checkpoint(100, {}, {}, keep=9)
    assert run.checkpoints() == [9, 100]


@pytest.mark.parametrize(("keep", "kept"), [(1, [40]), (2, [30, 40]), (3, [20, 30, 40])])
def test_only_the_newest_are_kept(run: RunDir, keep: int, kept: list[int]) -> None:
    run.save_checkpoint(30, {}, {}, keep=9)
    run.save_checkpoint(40, {}, {}, keep=keep)
    assert run.checkpoints() == kept


@pytest.mark.parametrize(("step", "keep"), [(30, 0), (-1, 1)])
def test_impossible_numbers_are_refused(run: RunDir, step: int, keep: int) -> None:
    with pytest.raises(ValueError, match=f"step={step}, keep={keep}; expected"):
        run.save_checkpoint(step, {}, {}, keep=keep)
    assert run.checkpoints() == [10, 20]


def test_a_damaged_latest_falls_back_says_so_and_does_not_outlive_the_next(run: RunDir) -> None:
    flip(run.checkpoint_folder / "step-20" / "tensors.safetensors", -1, 0)
    warnings: list[str] = []
    loaded = run.latest_checkpoint(warnings.append)
    assert loaded is not None
    assert (loaded.step, loaded.state) == (10, {"value": 10})
    assert torch.equal(loaded.tensors["weight"], torch.full((2, 3), 10.0))
    assert warnings == [
        f"damaged checkpoint in {run.checkpoint_folder} (step-20: tensors.safetensors does not "
        "match its checksum); falling back to step-10"
    ]
    # The run resumes from 10: the next checkpoint is the newest, whatever the damaged one claims.
    run.save_checkpoint(15, tensors_of(15), {"value": 15}, keep=1)
    assert run.checkpoints() == [15]
    assert run.latest_checkpoint(no_warning).step == 15  # type: ignore[union-attr]


def test_all_damaged_is_an_error_that_lists_them(run: RunDir) -> None:
    (run.checkpoint_folder / "step-20" / "manifest.json").unlink()
    (run.checkpoint_folder / "step-10" / "state.json").write_text("{}")
    with pytest.raises(RunError) as caught:
        run.latest_checkpoint(no_warning)
    assert str(caught.value) == (
        f"no checkpoint in {run.checkpoint_folder} can be used "
        "(step-20: manifest.json is missing; step-10: state.json does not match its checksum); "
        "restore one from a copy, or train again with another `out`"
    )


@pytest.mark.parametrize("name", ["tensors.safetensors", "state.json", "manifest.json"])
def test_a_flipped_bit_in_any_byte_is_noticed(run: RunDir, name: str) -> None:
    shutil.rmtree(run.checkpoint_folder / "step-10")
    path = run.checkpoint_folder / "step-20" / name
    for byte in range(path.stat().st_size):
        bit = random.Random(byte).randrange(8)
        flip(path, byte, bit)
        assert checkpoint.newest_good(run.checkpoint_folder) is None, (byte, bit)
        flip(path, byte, bit)
    assert checkpoint.newest_good(run.checkpoint_folder) == 20


@pytest.mark.parametrize("name", ["tensors.safetensors", "state.json", "manifest.json"])
@pytest.mark.parametrize(
    "damage",
    [
        Path.unlink,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        lambda path: path.write_bytes(bytes(path.stat().st_size)),
        lambda path: (path.unlink(), path.mkdir()),
    ],
    ids=["missing", "empty", "short", "zeros", "directory"],
)
def test_every_larger_damage_is_noticed(
    run: RunDir, name: str, damage: Callable[[Path], None]
) -> None:
    damage(run.checkpoint_folder / "step-20" / name)
    warnings: list[str] = []
    loaded = run.latest_checkpoint(warnings.append)
    assert loaded is not None
    assert loaded.step == 10
    assert len(warnings) == 1
    assert f"step-20: {name}" in warnings[0]


def test_a_checkpoint_under_the_name_of_another_is_damaged(run: RunDir) -> None:
    (run.checkpoint_folder / "step-20").rename(run.checkpoint_folder / "step-50")
    warnings: list[str] = []
    assert run.latest_checkpoint(warnings.append).step == 10  # type: ignore[union-attr]
    assert "step-50: manifest.json does not match the files" in warnings[0]


@pytest.mark.parametrize("manifest", ["[]", "{}", "3", '{"files": []}', '{"files": {}}'])
def test_a_manifest_of_another_shape_is_damaged(run: RunDir, manifest: str) -> None:
    (run.checkpoint_folder / "step-20" / "manifest.json").write_text(manifest)
    assert checkpoint.newest_good(run.checkpoint_folder) == 10


@pytest.mark.parametrize(("step", "keep"), [(30, 1), (20, 1)])
def test_a_kill_at_any_point_leaves_the_checkpoint_before_or_the_new_one(
    run: RunDir, step: int, keep: int
) -> None:
    def save(path: Path) -> None:
        run = RunDir.open(path)
        with run.lock():
            run.save_checkpoint(step, tensors_of(7), {"value": 7}, keep)

    values = []
    for point, path in kill_everywhere(run.path, save):
        after = RunDir.open(path)
        with after.lock():
            loaded = after.latest_checkpoint(no_warning)
            assert loaded is not None, point
            value = loaded.state["value"]
            assert (loaded.step, value) in [(20, 20), (step, 7)], point
            assert torch.equal(loaded.tensors["weight"], torch.full((2, 3), float(value)))
            names = {p.name for p in after.checkpoint_folder.iterdir()}
            assert names <= {"step-10", "step-20", "step-30"}, point
            after.save_checkpoint(40, {}, {}, keep=1)
            assert after.checkpoints() == [40]
        values.append(value)
        shutil.rmtree(path)
    assert set(values) == {20, 7}
    assert values == sorted(values, reverse=True)  # once the new one exists it stays
    assert len(values) > 10


def test_a_kill_while_tensors_are_written(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    def tear(tensors: object, path: Path, metadata: object) -> None:
        path.with_name(".tmpAbCd").write_bytes(b"half")  # a temporary file of the library
        path.write_bytes(b"half")
        raise SystemExit

    monkeypatch.setattr("headway.runs.tensors.save_file", tear)
    monkeypatch.setattr("headway.runs.atomic._discard", lambda path: None)  # it was killed
    for save in (
        lambda: run.save_checkpoint(30, {}, {}, keep=1),
        lambda: run.save_weights({}, "best", 30),
    ):
        with pytest.raises(SystemExit):
            save()
    monkeypatch.undo()
    assert list(run.path.rglob(".tmpAbCd"))
    with run.lock():
        assert run.latest_checkpoint(no_warning).step == 20  # type: ignore[union-attr]
        assert not list(run.path.rglob(".*"))
    assert run.load_weights()[1]["step"] == "20"


def test_one_step_that_is_absent_or_damaged_says_what_to_do(run: RunDir) -> None:
    with pytest.raises(RunError) as caught:
        run.load_checkpoint(15)
    folder = run.checkpoint_folder
    assert str(caught.value) == f"{folder} has no step-15; choose one of its steps: 10, 20"
    (folder / "step-20" / "state.json").unlink()
    with pytest.raises(RunError) as caught:
        run.load_checkpoint(20)
    assert str(caught.value) == (
        f"damaged checkpoint in {folder} (step-20: state.json is missing); "
        "restore it from a copy or do without it"
    )

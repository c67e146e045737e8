import random
import shutil
from pathlib import Path

import pytest
import torch
from runs_support import kill_everywhere, tensors_of
from safetensors.torch import save_file

from headway.errors import RunError
from headway.runs import RunDir


def test_weights_come_back_with_the_rule_that_chose_them(run: RunDir) -> None:
    tied = torch.ones(2, 2, dtype=torch.bfloat16)
    run.save_weights({"a": tied, "b": tied.T}, "averaged", 300)
    tensors, metadata = run.load_weights()
    assert metadata == {"rule": "averaged", "step": "300"}
    assert tensors.keys() == {"a", "b"}
    assert torch.equal(tensors["b"], tied)
    assert tensors["b"].dtype == torch.bfloat16


def test_weights_can_be_read_by_whoever_can_read_the_run(run: RunDir) -> None:
    mode = (run.path / "run.toml").stat().st_mode
    assert (run.path / "model.safetensors").stat().st_mode == mode


def test_no_weights_yet(run: RunDir) -> None:
    (run.path / "model.safetensors").unlink()
    with pytest.raises(RunError) as caught:
        run.load_weights()
    assert str(caught.value) == (
        f"{run.path} has no weights yet (model.safetensors is missing); "
        f"restore it from a copy, or write it with `headway resume {run.path}`"
    )


@pytest.mark.parametrize(
    ("fact", "remedy"),
    [("imported_from", "import /a again"), ("averaged_from", "average /a again")],
)
def test_weights_that_resuming_cannot_write(run: RunDir, fact: str, remedy: str) -> None:
    run.record_facts({fact: "/a"})
    (run.path / "model.safetensors").write_bytes(b"")
    with pytest.raises(RunError, match=rf"is damaged .*; restore it from a copy, or {remedy}$"):
        RunDir.open(run.path).load_weights()


def test_a_flipped_bit_in_any_byte_is_noticed(run: RunDir) -> None:
    path = run.path / "model.safetensors"
    whole = path.read_bytes()
    for byte in range(len(whole)):
        content = bytearray(whole)
        content[byte] ^= 1 << random.Random(byte).randrange(8)
        path.write_bytes(content)
        with pytest.raises(
            RunError, match=r"is damaged .*; restore it from a copy, or write it with `headway re"
        ):
            run.load_weights()
    path.write_bytes(whole)
    assert run.load_weights()[1]["rule"] == "best"


def test_truncated_weights_and_weights_of_others(run: RunDir) -> None:
    path = run.path / "model.safetensors"
    whole = path.read_bytes()
    for size in (0, 7, 8, 100, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(RunError, match="is damaged"):
            run.load_weights()
    save_file({"a": torch.zeros(1)}, path)
    with pytest.raises(RunError, match=r"is damaged \(its checksum is missing\)"):
        run.load_weights()


def test_a_kill_leaves_the_old_weights_or_the_new(run: RunDir) -> None:
    def save(path: Path) -> None:
        run = RunDir.open(path)
        with run.lock():
            run.save_weights(tensors_of(7), "best", 7)

    steps = []
    for _, path in kill_everywhere(run.path, save):
        after = RunDir.open(path)
        with after.lock():
            tensors, metadata = after.load_weights()
            assert int(tensors["count"]) == int(metadata["step"])
            assert not list(path.glob(".*"))
        steps.append(int(metadata["step"]))
        shutil.rmtree(path)
    assert set(steps) == {20, 7}
    assert steps == sorted(steps, reverse=True)

"""Tensors in files: any layout, shared memory, the rights of the folder, digests."""

import hashlib
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError

from headway.runs.tensors import load_tensors, n_bytes, save_tensors, update_digest


def digest(tensors: dict[str, torch.Tensor]) -> str:
    state = hashlib.blake2b()
    update_digest(state, tensors)
    return state.hexdigest()


def test_any_layout_comes_back_with_the_metadata(tmp_path: Path) -> None:
    matrix = torch.arange(6.0).view(2, 3)
    tensors = {
        "turned": matrix.T,
        "shared": matrix,
        "part": matrix[1:],
        "scalar": torch.tensor(3),
        "empty": torch.zeros(0, 4),
        "learned": torch.nn.Parameter(torch.ones(2)),
    }
    save_tensors(tmp_path / "t", tensors, {"rule": "best"})
    loaded, metadata = load_tensors(tmp_path / "t")
    assert metadata == {"rule": "best"}
    assert loaded.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert torch.equal(loaded[name], tensor)
        assert loaded[name].dtype == tensor.dtype


def test_a_file_without_metadata_has_none(tmp_path: Path) -> None:
    save_tensors(tmp_path / "t", {"a": torch.ones(1)})
    assert load_tensors(tmp_path / "t")[1] == {}


def test_a_file_has_the_rights_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    save_tensors(tmp_path / "t", {"a": torch.ones(1)})
    assert (tmp_path / "t").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    save_tensors(tmp_path / "t", {"a": torch.ones(8)})
    (tmp_path / "t").write_bytes((tmp_path / "t").read_bytes()[:-1])
    with pytest.raises(SafetensorError):
        load_tensors(tmp_path / "t")


def test_bytes_by_hand() -> None:
    assert n_bytes({"a": torch.zeros(2, 3), "b": torch.zeros(5, dtype=torch.uint8)}) == 29
    assert n_bytes({}) == 0


def test_a_digest_depends_on_names_types_shapes_and_contents_alone() -> None:
    plain = {"a": torch.zeros(2, 2), "b": torch.ones(1)}
    assert digest(plain) == digest(dict(reversed(plain.items())))
    assert digest({"a": torch.arange(4).view(2, 2).T}) == digest(
        {"a": torch.tensor([[0, 2], [1, 3]])}
    )
    others = [
        {"c": torch.zeros(2, 2), "b": torch.ones(1)},
        {"a": torch.zeros(4), "b": torch.ones(1)},
        {"a": torch.zeros(2, 2, dtype=torch.int32), "b": torch.ones(1)},
        {"a": torch.zeros(2, 2), "b": torch.zeros(1)},
    ]
    assert len({digest(tensors) for tensors in [plain, *others]}) == 5


def test_equal_content_gives_equal_bytes(tmp_path):
    tensors = {"b": torch.arange(3.0), "a": torch.zeros(2, 2)}
    metadata = {"rule": "best by bleu", "step": "40", "note": 'quote " and \\ and \u00e9\n'}
    contents = set()
    for i in range(8):
        save_tensors(tmp_path / f"{i}", tensors, metadata)
        contents.add((tmp_path / f"{i}").read_bytes())
    assert len(contents) == 1
    loaded, read = load_tensors(tmp_path / "0")
    assert read == metadata
    assert all(torch.equal(loaded[name], tensors[name]) for name in tensors)

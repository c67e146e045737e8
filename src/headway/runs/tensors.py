"""Named tensors to and from safetensors files. No pickle.

The meaning of the tensors is up to `weights.py` and `checkpoint.py`.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from .reading import require_regular

METADATA = "__metadata__"


def save_tensors(
    path: Path, tensors: Mapping[str, torch.Tensor], metadata: Mapping[str, str] | None = None
) -> None:
    """Writes tensors of any device and layout; those that share memory are written separately.

    Equal tensors and metadata give equal bytes.
    """
    path.touch()
    mode = path.stat().st_mode
    save_file(_separate(tensors), path, dict(metadata or {}))
    if metadata:
        _sort_metadata(path)
    # The library makes files that only their owner can read; a run is shared like its directory.
    path.chmod(mode)


def _sort_metadata(path: Path) -> None:
    """Rewrites the header in place: the library writes metadata in random order."""
    with open(path, "r+b") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        header[METADATA] = dict(sorted(header[METADATA].items()))
        text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
        assert len(text) <= size
        file.seek(8)
        file.write(text.ljust(size))


def load_tensors(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """The tensors of a file, on the CPU, and its metadata.

    Raises:
        OSError: the file is missing or is no file.
        SafetensorError: the file is not whole.
    """
    require_regular(path)
    with safe_open(path, framework="pt") as file:
        names = file.keys()
        return {name: file.get_tensor(name) for name in names}, file.metadata() or {}


def n_bytes(tensors: Mapping[str, torch.Tensor]) -> int:
    return sum(tensor.nbytes for tensor in tensors.values())


def update_digest(digest: hashlib.blake2b, tensors: Mapping[str, torch.Tensor]) -> None:
    """Feeds names, types, shapes and contents to `digest`, in the order of the names."""
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name}\0{tensor.dtype}\0{tuple(tensor.shape)}\0".encode())
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        digest.update(flat.view(torch.uint8).numpy().data)


def _separate(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Contiguous CPU tensors, no two in the same memory (safetensors refuses to guess)."""
    seen: set[int] = set()
    separate = {}
    for name, tensor in tensors.items():
        tensor = tensor.detach().cpu().contiguous()
        if tensor.untyped_storage().data_ptr() in seen:
            tensor = tensor.clone()
        seen.add(tensor.untyped_storage().data_ptr())
        separate[name] = tensor
    return separate

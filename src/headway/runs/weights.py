"""`model.safetensors`: the weights to use, and in its metadata the rule that chose them.

It is one file that can be copied alone, so its checksum is in the metadata as well.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError

from ..errors import RunError
from .atomic import replacing_file
from .reading import unreadable
from .tensors import load_tensors, save_tensors, update_digest

CHECKSUM = "blake2b"


def save_weights(
    path: Path, tensors: Mapping[str, torch.Tensor], metadata: Mapping[str, str]
) -> None:
    signed = {**metadata, CHECKSUM: _checksum(tensors, metadata)}
    with replacing_file(path) as staging:
        save_tensors(staging, tensors, signed)


def load_weights(path: Path, remedy: str) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """The tensors and the metadata given to `save_weights`.

    Args:
        remedy: what to do about a missing or damaged file, for the message.

    Raises:
        RunError: the file is missing, unreadable or damaged.
    """
    try:
        tensors, metadata = load_tensors(path)
    except FileNotFoundError as error:
        raise RunError(
            f"{path.parent} has no weights yet ({path.name} is missing); {remedy}"
        ) from error
    except OSError as error:
        raise unreadable(path, error) from error
    except (SafetensorError, ValueError) as error:
        raise RunError(f"{path} is damaged ({error}); {remedy}") from error
    checksum = metadata.pop(CHECKSUM, None)
    if checksum is None:
        raise RunError(f"{path} is damaged (its checksum is missing); {remedy}")
    if checksum != _checksum(tensors, metadata):
        raise RunError(f"{path} is damaged (it does not match its checksum); {remedy}")
    return tensors, metadata


def _checksum(tensors: Mapping[str, torch.Tensor], metadata: Mapping[str, str]) -> str:
    digest = hashlib.blake2b(digest_size=32)
    digest.update(json.dumps(dict(metadata), sort_keys=True).encode())
    update_digest(digest, tensors)
    return digest.hexdigest()

"""Checkpoints to resume from: `checkpoints/step-N/` with tensors, state and their checksums.

A checkpoint is complete or absent (`atomic.py`) and is used only if its checksums agree. Training
decides the content of the state and when to save.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from ..errors import RunError
from ..file_limits import parse_json
from .atomic import remove_directory, replacing_directory
from .reading import read_regular, require_regular, unreadable
from .tensors import load_tensors, save_tensors

TENSORS, STATE, MANIFEST = "tensors.safetensors", "state.json", "manifest.json"


@dataclass(frozen=True)
class Checkpoint:
    step: int
    tensors: dict[str, torch.Tensor]
    state: dict[str, Any]


class Damaged(Exception):
    """The defect of one checkpoint; callers of this file never see it."""


def encode_state(state: Mapping[str, Any]) -> str:
    """JSON that gives back every integer and float exactly (NaN and infinities as Python's JSON).

    Raises:
        TypeError: JSON cannot represent a value, or would silently change it.
    """
    _require_string_keys(state, "state")
    return json.dumps(state, allow_nan=True)


def save_checkpoint(
    folder: Path,
    step: int,
    tensors: Mapping[str, torch.Tensor],
    state: str,
    keep: int,
    counts: Callable[[int], bool] = lambda step: True,
) -> None:
    """Writes `step-N`, then removes all but it and the `keep` newest of the steps that count.

    Steps beyond `step` are removed as well: the run resumed from an earlier checkpoint because they
    were damaged.
    """
    if step < 0 or keep < 1:
        raise ValueError(f"step={step}, keep={keep}; expected step >= 0 and keep >= 1")
    with replacing_directory(folder / f"step-{step}") as staging:
        save_tensors(staging / TENSORS, tensors)
        (staging / STATE).write_text(state, encoding="utf-8")
        manifest = json.dumps(_manifest(staging, step))
        (staging / MANIFEST).write_text(manifest, encoding="utf-8")
    steps = steps_in(folder)
    kept = {step, *[other for other in steps if other <= step and counts(other)][-keep:]}
    for other in steps:
        if other not in kept:
            remove_directory(folder / f"step-{other}")


def load_latest(folder: Path, warn: Callable[[str], None]) -> Checkpoint | None:
    """The newest undamaged checkpoint, None if there is no checkpoint at all.

    Raises:
        RunError: there are checkpoints and all are damaged.
    """
    damages = []
    for step in reversed(steps_in(folder)):
        try:
            checkpoint = _load(folder / f"step-{step}", step)
        except Damaged as damage:
            damages.append(f"step-{step}: {damage}")
            continue
        for text in damages:
            warn(f"damaged checkpoint in {folder} ({text}); falling back to step-{step}")
        return checkpoint
    if damages:
        raise RunError(
            f"no checkpoint in {folder} can be used ({'; '.join(damages)}); "
            "restore one from a copy, or train again with another `out`"
        )
    return None


def load_step(folder: Path, step: int) -> Checkpoint:
    """The checkpoint of one step.

    Raises:
        RunError: it is absent or damaged.
    """
    if step not in steps_in(folder):
        steps = ", ".join(map(str, steps_in(folder))) or "none"
        raise RunError(f"{folder} has no step-{step}; choose one of its steps: {steps}")
    try:
        return _load(folder / f"step-{step}", step)
    except Damaged as damage:
        raise RunError(
            f"damaged checkpoint in {folder} (step-{step}: {damage}); "
            "restore it from a copy or do without it"
        ) from None


def newest_good(folder: Path) -> int | None:
    """The step of the newest undamaged checkpoint."""
    for step in reversed(steps_in(folder)):
        try:
            _verify(folder / f"step-{step}", step)
        except Damaged:
            continue
        return step
    return None


def steps_in(folder: Path) -> list[int]:
    """The steps of the checkpoints in `folder`, ascending, damaged or not."""
    try:
        names = [path.name for path in folder.iterdir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise unreadable(folder, error) from error
    return sorted(int(name[5:]) for name in names if re.fullmatch(r"step-(0|[1-9][0-9]*)", name))


def _load(path: Path, step: int) -> Checkpoint:
    _verify(path, step)
    try:
        tensors, _ = load_tensors(path / TENSORS)
        state = parse_json(read_regular(path / STATE))
    except (OSError, ValueError, SafetensorError) as error:
        raise Damaged(f"cannot be read: {error}") from error
    if not isinstance(state, dict):
        raise Damaged(f"{STATE} is not a JSON object")
    return Checkpoint(step, tensors, state)


def _verify(path: Path, step: int) -> None:
    """Compares the manifest with the files; any difference is damage."""
    try:
        actual = _manifest(path, step)
        expected = parse_json(read_regular(path / MANIFEST))
    except FileNotFoundError as error:
        raise Damaged(f"{Path(error.filename).name} is missing") from error
    except OSError as error:
        raise Damaged(f"{Path(error.filename or path).name}: {error.strerror}") from error
    except ValueError as error:
        raise Damaged(f"{MANIFEST} is not readable") from error
    if expected == actual:
        return
    checksums = expected.get("files") if isinstance(expected, dict) else None
    if isinstance(checksums, dict):
        for name, checksum in actual["files"].items():
            if checksums.get(name) != checksum:
                raise Damaged(f"{name} does not match its checksum")
    raise Damaged(f"{MANIFEST} does not match the files")


def _manifest(path: Path, step: int) -> dict[str, Any]:
    return {"step": step, "files": {name: _checksum(path / name) for name in (TENSORS, STATE)}}


def _checksum(path: Path) -> str:
    require_regular(path)
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=32)).hexdigest()


def _require_string_keys(value: Any, where: str) -> None:
    # json.dumps silently writes {1: x} as {"1": x}, and a resumed run would look up 1.
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"{where} has the key {key!r}; JSON keys must be strings")
            _require_string_keys(item, f"{where}[{key!r}]")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _require_string_keys(item, f"{where}[{index}]")

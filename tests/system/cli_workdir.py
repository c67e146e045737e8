"""Folders in which system tests run commands, and run files of models that train in a moment."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headway.cli import main

SIZES = {"d_model": 16, "d_ff": 16, "n_heads": 2}
TRANSFORMER = {**SIZES, "encoder_layers": 1, "decoder_layers": 1}
ENCODER = {"family": "encoder", **SIZES, "layers": 1}
Table = Mapping[str, Any]


@contextmanager
def commands_in(folder: Path) -> Iterator[None]:
    """Makes a folder the current one, with a cache of its own and one thread."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(folder / "cache"))
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.delenv("HEADWAY_DATA", raising=False)
        patch.chdir(folder)
        yield


def run_file(
    data: Table, model: Table = TRANSFORMER, text: str = "words", task: str = "translate",
    **tables: Table,
) -> str:  # fmt: skip
    """A run file in TOML.

    Args:
        text: `text.kind`.
        tables: the other tables by name: train, search, pretrain, ...
    """
    lines = [f'task = "{task}"', f'text.kind = "{text}"']
    for name, table in {"data": data, "model": model, **tables}.items():
        lines += [f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {_toml(item)}' for key, item in value.items())} }}"
    return json.dumps(value)  # strings, numbers, booleans and lists are those of TOML


def train_runs(**run_files: str) -> None:
    """Trains each run file in the current folder: NAME.toml into NAME."""
    for name, content in run_files.items():
        Path(f"{name}.toml").write_text(content, "utf-8")
        assert main(["train", f"{name}.toml", "--out", name]) == 0


def start(*arguments: str | bytes, **options: Any) -> subprocess.Popen:
    """A `headway` process with pipes, unless `options` say otherwise."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [sys.executable, "-m", "headway", *arguments]
    return subprocess.Popen(command, text=True, **{**pipes, **options})

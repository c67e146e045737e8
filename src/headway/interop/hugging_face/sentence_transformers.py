"""Reads and writes the files of sentence-transformers: how a text becomes one vector."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ...errors import RunError
from .folder import Folder

MODULES, SIZES = "modules.json", "sentence_bert_config.json"
POOLINGS: dict[str, Literal["mean", "first"]] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "first",
}


@dataclass(frozen=True)
class SentenceConfig:
    """How a text becomes a vector.

    Attributes:
        normalises: whether vectors are scaled to length 1.
        max_length: of a text in tokens, special tokens included; None if the folder has no limit.
    """

    pooling: Literal["mean", "first"]
    normalises: bool
    max_length: int | None


def read_sentence_config(folder: Folder) -> SentenceConfig | None:
    """The settings of a folder, or None if it is not one of sentence-transformers.

    Raises:
        RunError: the folder has modules that headway does not have, or a damaged file.
    """
    modules = folder.find_json(MODULES)
    if modules is None:
        return None
    where = folder.path / MODULES
    if not isinstance(modules, list) or not all(isinstance(part, dict) for part in modules):
        raise RunError(f"{where} is damaged (it holds no list of tables); copy it again")
    types = [str(part.get("type", "")).rpartition(".")[2] for part in modules]
    if types[:2] != ["Transformer", "Pooling"] or types[2:] not in ([], ["Normalize"]):
        raise RunError(
            f"{where}: the parts are {', '.join(types)}; expected Transformer, Pooling and perhaps "
            "Normalize; import another model"
        )
    longest = folder.find_object(SIZES).get("max_seq_length")
    place = modules[1].get("path") or "1_Pooling"
    if not isinstance(place, str) or not re.fullmatch(r"[\w-]+", place):
        raise RunError(f"{where} is damaged (path = {place!r} is no subfolder); copy it again")
    return SentenceConfig(
        _read_pooling(folder, f"{place}/config.json"),
        normalises="Normalize" in types,
        max_length=longest if _is_number(longest) else None,
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _read_pooling(folder: Folder, name: str) -> Literal["mean", "first"]:
    config: dict[str, Any] = folder.read_json(name)
    modes = [key for key, value in config.items() if key.startswith("pooling_mode_") and value]
    if len(modes) != 1 or modes[0] not in POOLINGS:
        raise RunError(
            f"{folder.path / name}: the vector of a text is made by {', '.join(modes) or 'nothing'}"
            f"; expected one of {', '.join(POOLINGS)}; import another model"
        )
    return POOLINGS[modes[0]]


def write_sentence_config(folder: Path, max_length: int, width: int, normalises: bool) -> None:
    """Writes the files for a model whose vectors are the mean of all states.

    Args:
        width: of the vectors.
    """
    types = {"": "Transformer", "1_Pooling": "Pooling"}
    if normalises:
        types["2_Normalize"] = "Normalize"
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{name}"}
        for i, (path, name) in enumerate(types.items())
    ]
    files = {
        MODULES: modules,
        SIZES: {"max_seq_length": max_length, "do_lower_case": False},
        "1_Pooling/config.json": {
            "word_embedding_dimension": width,
            **{key: pooling == "mean" for key, pooling in POOLINGS.items()},
        },
    }
    (folder / "1_Pooling").mkdir()
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")

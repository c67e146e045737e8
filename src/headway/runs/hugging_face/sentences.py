"""What sentence-transformers lays beside a model: how the states of a text become one vector."""

import json
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
class Sentences:
    """How a text becomes a vector.

    Attributes:
        normalises: whether vectors are brought to length 1.
        max_length: of a text in tokens, its marks counted, if that is said.
    """

    pooling: Literal["mean", "first"]
    normalises: bool
    max_length: int | None


def read_sentences(folder: Folder) -> Sentences | None:
    """What a folder says, or None if it is not one of sentence-transformers.

    Raises:
        RunError: it has parts that headway does not.
    """
    modules = folder.find_json(MODULES)
    if modules is None:
        return None
    where = folder.path / MODULES
    if not isinstance(modules, list) or not all(isinstance(part, dict) for part in modules):
        raise RunError(f"{where} is damaged (it holds no list of tables); copy it again")
    kinds = [str(part.get("type", "")).rpartition(".")[2] for part in modules]
    if kinds[:2] != ["Transformer", "Pooling"] or kinds[2:] not in ([], ["Normalize"]):
        raise RunError(
            f"{where}: the parts are {', '.join(kinds)}; expected Transformer, Pooling and perhaps "
            "Normalize; import another model"
        )
    sizes = folder.find_json(SIZES) or {}
    longest = sizes.get("max_seq_length")
    pooling = _pooling(folder, f"{modules[1].get('path') or '1_Pooling'}/config.json")
    return Sentences(pooling, "Normalize" in kinds, longest if isinstance(longest, int) else None)


def _pooling(folder: Folder, name: str) -> Literal["mean", "first"]:
    config: dict[str, Any] = folder.read_json(name)
    asked = [key for key, value in config.items() if key.startswith("pooling_mode_") and value]
    if len(asked) != 1 or asked[0] not in POOLINGS:
        raise RunError(
            f"{folder.path / name}: the vector of a text is made by {', '.join(asked) or 'nothing'}"
            f"; expected one of {', '.join(POOLINGS)}; import another model"
        )
    return POOLINGS[asked[0]]


def write_sentences(folder: Path, max_length: int, width: int, normalises: bool) -> None:
    """Lays the same beside a model whose vectors are the mean of all states."""
    kinds = {"": "Transformer", "1_Pooling": "Pooling"}
    if normalises:
        kinds["2_Normalize"] = "Normalize"
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(kinds.items())
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

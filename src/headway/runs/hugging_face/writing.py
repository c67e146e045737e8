"""From a model of ours to a folder that the library's `from_pretrained` loads, without our code."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import nn

from ...models import Vocabularies
from ...text import BOS, EOS, PAD, UNK, Tokenizer
from ...text.specials import SPECIALS, vocabulary_name
from ..export.codec import write_tokenizer
from ..tensors import save_tensors
from .layout import Layout
from .spelling_out import spelled_out


def write_model(
    folder: Path, model: nn.Module, layout: Layout, vocabularies: Vocabularies, n_positions: int
) -> None:
    """Writes weights and `config.json`.

    Args:
        layout: one that has no obstacles for the model.
        n_positions: how many positions there are; learned ones have their own number.
    """
    config: Any = model.config
    if config.positions == "learned":
        n_positions = config.max_positions
    table = layout.table(config)
    tensors = table.give(spelled_out(model, table.rows, n_positions))
    save_tensors(folder / "model.safetensors", tensors, {"format": "pt"})
    settings = layout.write(replace(config, max_positions=n_positions), vocabularies)
    write_json(folder / "config.json", {**settings, **_ids(layout)})


def write_generation(folder: Path, layout: Layout, generation: Mapping[str, Any]) -> None:
    """Writes settings of the search, as `generation_config.json` has them."""
    write_json(folder / "generation_config.json", {**_ids(layout), **generation})


def write_text(folder: Path, source: Tokenizer, target: Tokenizer, max_length: int) -> None:
    """Writes the tokenizer; where source and target have their own, that of the target apart.

    Args:
        max_length: the longest input, in tokens, that the model was trained on.
    """
    _write_tokenizer(folder, source, max_length)
    if target is not source:
        (folder / "target").mkdir()
        _write_tokenizer(folder / "target", target, max_length)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _ids(layout: Layout) -> dict[str, int]:
    ids = {"pad_token_id": PAD, "bos_token_id": BOS, "eos_token_id": EOS}
    # Marian starts from the padding token; any token will do, so ours is the begin mark.
    return {**ids, "decoder_start_token_id": BOS} if layout.task == "translate" else ids


def _write_tokenizer(folder: Path, tokenizer: Tokenizer, max_length: int) -> None:
    write_tokenizer(tokenizer, folder / "tokenizer.json")
    names = {f"{SPECIALS[i]}_token": vocabulary_name(SPECIALS[i]) for i in (PAD, BOS, EOS, UNK)}
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **names,
        "model_input_names": ["input_ids", "attention_mask"],
        "model_max_length": max_length,
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": True,  # text that spells a control token is text
    }
    write_json(folder / "tokenizer_config.json", settings)

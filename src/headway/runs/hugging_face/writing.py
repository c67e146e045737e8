"""From a model of ours to a folder that the library's `from_pretrained` loads, without our code."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import nn

from ...models import Vocabularies
from ...text import Tokenizer
from ...text.specials import SPECIALS
from ..export.codec import write_tokenizer
from ..tensors import save_tensors
from .layout import Layout
from .purposes import Purpose
from .spelling_out import spelled_out


def write_model(
    folder: Path,
    model: nn.Module,
    layout: Layout,
    vocabularies: Vocabularies,
    ids: Mapping[str, int],
    n_positions: int,
    purpose: Purpose | None = None,
) -> None:
    """Writes weights and `config.json`.

    Args:
        layout: one that has no obstacles for the model.
        ids: those of the control tokens, of the target where there are two vocabularies.
        n_positions: how many positions there are; learned ones have their own number.
        purpose: what the model was trained further for, if it was.
    """
    config: Any = model.config
    if config.positions == "learned":
        n_positions = config.max_positions
    table = layout.table(config, vocabularies.head if purpose is None else purpose.form)
    ours = spelled_out(model, table.rows, n_positions)
    if purpose is not None:  # the library's models give values as they are
        ours["output.weight"] = ours["output.weight"] * purpose.deviation
        ours["output.bias"] = ours["output.bias"] * purpose.deviation + purpose.mean
    save_tensors(folder / "model.safetensors", table.give(ours), {"format": "pt"})
    settings = layout.write(replace(config, max_positions=n_positions), vocabularies, purpose)
    write_json(folder / "config.json", {**settings, **_ids(layout, ids)})


def write_generation(
    folder: Path, layout: Layout, ids: Mapping[str, int], generation: Mapping[str, Any]
) -> None:
    """Writes settings of the search, as `generation_config.json` has them."""
    write_json(folder / "generation_config.json", {**_ids(layout, ids), **generation})


def write_text(
    folder: Path, layout: Layout, model: Any, source: Tokenizer, target: Tokenizer, max_length: int
) -> None:
    """Writes the tokenizer; where source and target have their own, that of the target apart.

    Args:
        model: settings of ours.
        max_length: the longest input, in tokens, that the model was trained on.
    """
    inputs = ["input_ids", "attention_mask"]
    if getattr(model, "segments", 0) > 1:
        inputs.insert(1, "token_type_ids")
    is_begun = layout.task == "language"
    settings = {"model_input_names": inputs, "model_max_length": max_length}
    _write_tokenizer(folder, source, settings, is_begun)
    if target is not source:
        (folder / "target").mkdir()
        _write_tokenizer(folder / "target", target, settings, is_begun)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _ids(layout: Layout, ids: Mapping[str, int]) -> dict[str, int]:
    named = {f"{name}_token_id": ids[name] for name in ("pad", "bos", "eos")}
    if layout.task != "translate":
        return named
    # Marian starts from the padding token; any token will do, so ours is the begin mark.
    return {**named, "decoder_start_token_id": ids.get("start", ids["bos"])}


def _write_tokenizer(
    folder: Path, tokenizer: Tokenizer, settings: Mapping[str, Any], is_begun: bool
) -> None:
    write_tokenizer(tokenizer, folder / "tokenizer.json", is_begun)
    ids = tokenizer.specials
    names = {name: name for name in (*SPECIALS, "mask") if name in ids}
    if tokenizer.frame.begin:
        names |= {"cls": "bos", "sep": "eos"}
    content = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **{f"{theirs}_token": tokenizer.pieces[ids[ours]] for theirs, ours in names.items()},
        **settings,
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": True,  # text that spells a control token is text
    }
    write_json(folder / "tokenizer_config.json", content)

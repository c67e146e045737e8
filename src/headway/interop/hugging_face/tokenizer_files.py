"""Reads and writes the tokenizers of a folder, and finds out which tokens are the special ones.

The library defines special tokens in several files, by id or by name; an architecture says which of
the library's names are our roles.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...errors import RunError
from ...models import VocabularySizes
from ...text import SpecialTokenTemplate, Tokenizer
from ...text.special_tokens import SPECIALS
from ...text.tokenizer import read_content
from .architecture import Architecture
from .folder import CONFIG, GENERATION, Folder

FILE, TARGET = "tokenizer.json", "target/tokenizer.json"
SETTINGS = "tokenizer_config.json"
NAME_FILES = (SETTINGS, "special_tokens_map.json")
ID_FILES = (CONFIG, GENERATION)


def read_tokenizers(
    folder: Folder, architecture: Architecture, sizes: VocabularySizes
) -> tuple[Tokenizer, Tokenizer]:
    """The tokenizers of source and target; the same one unless there are two vocabularies.

    Raises:
        RunError: a file is missing or does not fit the model.
    """
    source = _read(folder, architecture, FILE, sizes.source)
    if sizes.shared or not architecture.has_two_vocabularies:
        return source, source
    return source, _read(folder, architecture, TARGET, sizes.target)


def _read(folder: Folder, architecture: Architecture, name: str, size: int) -> Tokenizer:
    path = folder.path / name
    if not path.exists():
        raise RunError(
            f"{folder.path} has no {name}; write it with transformers: "
            f"AutoTokenizer.from_pretrained({str(folder.path)!r}).save_pretrained(...)"
        )
    content = read_content(path)
    roles = _roles(folder, architecture, name.removesuffix(FILE)) | _sentinels(content)
    frame = architecture.frame
    if architecture.task != "language":  # language models continue a text without a frame
        frame = frame_of(content["post_processor"]) or frame
    tokenizer = Tokenizer.from_hugging_face(path, roles, frame, size)
    if tokenizer.size > size:
        raise RunError(
            f"{path} has {tokenizer.size} tokens and the model embeddings of {size}; give the "
            "folder as it was saved"
        )
    return tokenizer


def frame_of(processor: Any) -> SpecialTokenTemplate | None:
    """The special tokens that a post-processor puts around texts; None if it adds none."""
    if not isinstance(processor, Mapping):
        return None
    name = processor.get("type")
    if name == "Sequence":
        frames = (frame_of(part) for part in processor.get("processors") or ())
        return next((frame for frame in frames if frame is not None), None)
    if name in ("BertProcessing", "RobertaProcessing"):
        return SpecialTokenTemplate(begin=True, between=1 if name == "BertProcessing" else 2)
    if name != "TemplateProcessing":
        return None
    positions = [i for i, part in enumerate(processor["pair"]) if "Sequence" in part]
    if len(positions) != 2:
        return None
    first, second = positions
    return SpecialTokenTemplate(begin=first > 0, between=second - first - 1)


def _roles(folder: Folder, architecture: Architecture, subfolder: str) -> dict[str, str | int]:
    """The token of each role, by id or by spelling."""
    roles: dict[str, str | int] = {}
    for role, names in architecture.roles.items():
        tokens = (
            token for name in names for token in _tokens(folder, architecture, name, subfolder)
        )
        token = next(tokens, None)
        if token is not None:
            roles[role] = token
    return roles


def _sentinels(content: Mapping[str, Any]) -> dict[str, str]:
    """The sentinel tokens of span corruption, as T5 spells them."""
    added = [token["content"] for token in content["added_tokens"]]
    matches = {name: re.fullmatch(r"<extra_id_(\d+)>", name) for name in added}
    return {f"sentinel_{match[1]}": name for name, match in matches.items() if match}


def _tokens(
    folder: Folder, architecture: Architecture, name: str, subfolder: str
) -> Iterator[str | int]:
    """The definitions of a special token, the most reliable first."""
    for file in ID_FILES:
        token_id = folder.find_object(file).get(f"{name}_token_id")
        if isinstance(token_id, list):  # several end tokens; the first is the usual one
            token_id = next(iter(token_id), None)
        if isinstance(token_id, int) and not isinstance(token_id, bool):
            yield token_id
    for file in NAME_FILES:
        token = folder.find_object(f"{subfolder}{file}").get(f"{name}_token")
        if isinstance(token, Mapping):
            token = token.get("content")
        if isinstance(token, str):
            yield token
    if name in architecture.default_ids:
        yield architecture.default_ids[name]


def write_tokenizers(
    folder: Path,
    architecture: Architecture,
    model: Any,
    source: Tokenizer,
    target: Tokenizer,
    max_length: int,
) -> None:
    """Writes the tokenizers; a target tokenizer of its own goes into the subfolder `target`.

    Args:
        model: our settings.
        max_length: the longest input, in tokens, that the model was trained on.
    """
    inputs = ["input_ids", "attention_mask"]
    if getattr(model, "segments", 0) > 1:
        inputs.insert(1, "token_type_ids")
    settings = {"model_input_names": inputs, "model_max_length": max_length}
    is_prompt = architecture.task == "language"
    _write_with_settings(folder, source, settings, is_prompt)
    if target is not source:
        (folder / "target").mkdir()
        _write_with_settings(folder / "target", target, settings, is_prompt)


def _write_with_settings(
    folder: Path, tokenizer: Tokenizer, settings: Mapping[str, Any], is_prompt: bool
) -> None:
    write_tokenizer(tokenizer, folder / FILE, is_prompt)
    ids = tokenizer.specials
    roles = {name: name for name in (*SPECIALS, "mask") if name in ids}
    if tokenizer.frame.begin:
        roles |= {"cls": "bos", "sep": "eos"}
    content = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **{f"{theirs}_token": tokenizer.pieces[ids[ours]] for theirs, ours in roles.items()},
        **settings,
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": True,  # text that spells a special token is text
    }
    text = json.dumps(content, ensure_ascii=False, indent=2) + "\n"
    (folder / SETTINGS).write_text(text, encoding="utf-8")


def write_tokenizer(tokenizer: Tokenizer, path: Path, is_prompt: bool = False) -> None:
    """Writes `tokenizer.json`, which encodes texts as headway encodes them for the model.

    Args:
        is_prompt: texts are prompts of a language model: the begin token comes first and no end
            token follows.
    """
    content = json.loads(tokenizer.to_json())
    make_template = _prompt_template if is_prompt else _frame_template
    content["post_processor"] = make_template(tokenizer)
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _frame_template(tokenizer: Tokenizer) -> dict[str, Any]:
    frame = tokenizer.frame
    begin, end = ["bos"] * frame.begin, ["eos"]
    single = [*_specials(tokenizer, begin), _text("A"), *_specials(tokenizer, end)]
    pair = [
        *_specials(tokenizer, begin),
        _text("A"),
        *_specials(tokenizer, end * frame.between),
        _text("B", segment=1),
        *_specials(tokenizer, end, segment=1),
    ]
    return _template(tokenizer, single, pair, {*begin, *end})


def _prompt_template(tokenizer: Tokenizer) -> dict[str, Any]:
    single = [*_specials(tokenizer, ["bos"]), _text("A")]
    return _template(tokenizer, single, [*single, _text("B", segment=1)], {"bos"})


def _template(
    tokenizer: Tokenizer, single: list[Any], pair: list[Any], used: set[str]
) -> dict[str, Any]:
    ids = tokenizer.specials
    names = {special: tokenizer.pieces[ids[special]] for special in sorted(used)}
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": pair,
        "special_tokens": {
            name: {"id": name, "ids": [ids[special]], "tokens": [name]}
            for special, name in names.items()
        },
    }


def _specials(tokenizer: Tokenizer, specials: list[str], segment: int = 0) -> list[dict[str, Any]]:
    pieces, ids = tokenizer.pieces, tokenizer.specials
    return [{"SpecialToken": {"id": pieces[ids[name]], "type_id": segment}} for name in specials]


def _text(name: str, segment: int = 0) -> dict[str, Any]:
    return {"Sequence": {"id": name, "type_id": segment}}

"""Tokenizers for other libraries: a tokenizer.json that puts the marks around every text."""

import json
from pathlib import Path
from typing import Any

from ...text import Tokenizer


def write_tokenizer(tokenizer: Tokenizer, path: Path, is_begun: bool = False) -> None:
    """Writes tokenizer.json; whoever encodes with it gets what headway gives a model to read.

    Args:
        is_begun: texts are those that a language model goes on with: behind the begin mark, without
            an end.
    """
    content = json.loads(tokenizer.to_json())
    content["post_processor"] = _begun(tokenizer) if is_begun else _framed(tokenizer)
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _framed(tokenizer: Tokenizer) -> dict[str, Any]:
    frame = tokenizer.frame
    begin, end = ["bos"] * frame.begin, ["eos"]
    single = [*_marks(tokenizer, begin), _text("A"), *_marks(tokenizer, end)]
    pair = [
        *_marks(tokenizer, begin),
        _text("A"),
        *_marks(tokenizer, end * frame.between),
        _text("B", segment=1),
        *_marks(tokenizer, end, segment=1),
    ]
    return _template(tokenizer, single, pair, {*begin, *end})


def _begun(tokenizer: Tokenizer) -> dict[str, Any]:
    single = [*_marks(tokenizer, ["bos"]), _text("A")]
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


def _marks(tokenizer: Tokenizer, specials: list[str], segment: int = 0) -> list[dict[str, Any]]:
    pieces, ids = tokenizer.pieces, tokenizer.specials
    return [{"SpecialToken": {"id": pieces[ids[name]], "type_id": segment}} for name in specials]


def _text(name: str, segment: int = 0) -> dict[str, Any]:
    return {"Sequence": {"id": name, "type_id": segment}}

"""Tokenizers for other libraries: a tokenizer.json that puts the marks around every text."""

import json
from pathlib import Path
from typing import Any

from ...text import Tokenizer


def write_tokenizer(tokenizer: Tokenizer, path: Path) -> None:
    """Writes tokenizer.json; whoever encodes with it gets what headway gives a model to read."""
    content = json.loads(tokenizer.to_json())
    content["post_processor"] = _framing(tokenizer)
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _framing(tokenizer: Tokenizer) -> dict[str, Any]:
    ids, frame = tokenizer.specials, tokenizer.frame
    names = {special: tokenizer.pieces[ids[special]] for special in ("bos", "eos")}

    def mark(special: str) -> dict[str, Any]:
        return {"SpecialToken": {"id": names[special], "type_id": 0}}

    def text(name: str) -> dict[str, Any]:
        return {"Sequence": {"id": name, "type_id": 0}}

    begin = [mark("bos")] * frame.begin
    return {
        "type": "TemplateProcessing",
        "single": [*begin, text("A"), mark("eos")],
        "pair": [*begin, text("A"), *[mark("eos")] * frame.between, text("B"), mark("eos")],
        "special_tokens": {
            name: {"id": name, "ids": [ids[special]], "tokens": [name]}
            for special, name in names.items()
            if special == "eos" or frame.begin
        },
    }

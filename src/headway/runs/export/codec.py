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

    def mark(special: str, segment: int = 0) -> dict[str, Any]:
        return {"SpecialToken": {"id": names[special], "type_id": segment}}

    def text(name: str, segment: int = 0) -> dict[str, Any]:
        return {"Sequence": {"id": name, "type_id": segment}}

    begin, between = [mark("bos")] * frame.begin, [mark("eos")] * frame.between
    return {
        "type": "TemplateProcessing",
        "single": [*begin, text("A"), mark("eos")],
        "pair": [*begin, text("A"), *between, text("B", 1), mark("eos", 1)],
        "special_tokens": {
            name: {"id": name, "ids": [ids[special]], "tokens": [name]}
            for special, name in names.items()
            if special == "eos" or frame.begin
        },
    }

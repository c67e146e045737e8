"""Tokenizers for other libraries: a tokenizer.json that ends every text with the end mark."""

import json
from pathlib import Path
from typing import Any

from ...text import Tokenizer


def write_tokenizer(tokenizer: Tokenizer, path: Path) -> None:
    """Writes tokenizer.json; whoever encodes with it gets what headway gives a model to read."""
    content = json.loads(tokenizer.to_json())
    content["post_processor"] = _ending(tokenizer)
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _ending(tokenizer: Tokenizer) -> dict[str, Any]:
    eos = tokenizer.specials["eos"]
    name = tokenizer.pieces[eos]
    end = {"SpecialToken": {"id": name, "type_id": 0}}

    def text(which: str) -> dict[str, Any]:
        return {"Sequence": {"id": which, "type_id": 0}}

    return {
        "type": "TemplateProcessing",
        "single": [text("A"), end],
        "pair": [text("A"), end, text("B"), end],
        "special_tokens": {name: {"id": name, "ids": [eos], "tokens": [name]}},
    }

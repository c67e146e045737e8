"""Tokenizers for other libraries: a tokenizer.json that ends every text with the end mark."""

import json
from pathlib import Path
from typing import Any

import tokenizers

from ...text import EOS, Tokenizer
from ...text.specials import SPECIALS, vocabulary_name

END = vocabulary_name(SPECIALS[EOS])


def pieces(tokenizer: Tokenizer) -> list[str]:
    """Every token as the file spells it, in the order of the ids."""
    vocabulary = tokenizers.Tokenizer.from_str(tokenizer.to_json()).get_vocab()
    return sorted(vocabulary, key=vocabulary.__getitem__)


def write_tokenizer(tokenizer: Tokenizer, path: Path) -> None:
    """Writes tokenizer.json; whoever encodes with it gets what headway gives a model to read."""
    content = json.loads(tokenizer.to_json())
    content["post_processor"] = _ending()
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _ending() -> dict[str, Any]:
    end = {"SpecialToken": {"id": END, "type_id": 0}}

    def text(name: str) -> dict[str, Any]:
        return {"Sequence": {"id": name, "type_id": 0}}

    return {
        "type": "TemplateProcessing",
        "single": [text("A"), end],
        "pair": [text("A"), end, text("B"), end],
        "special_tokens": {END: {"id": END, "ids": [EOS], "tokens": [END]}},
    }

"""What a tokenizer.json says, whoever wrote it: its pieces, how they spell text, what is put first.

A content is the file of the `tokenizers` library as plain data. Headway works with a copy in which
no text can be taken for a control token; the file itself is kept as it is.
"""

from collections.abc import Iterator, Set
from typing import Any, Literal

from ..errors import RunError
from .config import Kind
from .pretokenize import CONTINUES
from .special_tokens import vocabulary_name

Content = dict[str, Any]
Spelling = Literal["bytes", "spaces", "wordpiece", "words", "characters"]
"""What a piece is made of: characters that stand for bytes; characters, ▁ for a space; characters
of a word, which a space precedes unless the piece goes on with it; a word; a single character."""

KINDS: dict[str, Kind] = {
    "BPE": "bpe",
    "Unigram": "unigram",
    "WordPiece": "wordpiece",
    "WordLevel": "words",
}
"""The kind of tokenizer by the library's name of its model."""


def spelling_of(content: Content) -> Spelling:
    """How the pieces spell text.

    Raises:
        RunError: in a way that is not known here.
    """
    model, steps = content["model"], _types(content["decoder"], content["pre_tokenizer"])
    if "ByteLevel" in steps:
        return "bytes"
    if "Metaspace" in steps:
        return "spaces"
    if model["type"] == "WordPiece" and model["continuing_subword_prefix"] == CONTINUES:
        return "wordpiece"
    if model["type"] == "WordLevel":
        return "characters" if "Fuse" in steps else "words"
    raise RunError(
        f"the tokenizer spells text in a way that headway does not know ({model['type']} with "
        f"{', '.join(sorted(steps)) or 'nothing'} around it); expected byte-level pieces, ▁ for "
        f"spaces (Metaspace), or WordPiece with {CONTINUES!r}"
    )


def numbered_pieces(content: Content) -> dict[int, str]:
    """The pieces by id; there may be ids without a piece."""
    vocabulary = content["model"]["vocab"]
    if isinstance(vocabulary, dict):
        numbered = {index: piece for piece, index in vocabulary.items()}
    else:  # of a unigram model: pieces in order, each with its log probability
        numbered = {index: piece for index, (piece, _) in enumerate(vocabulary)}
    return numbered | {token["id"]: token["content"] for token in content["added_tokens"]}


def control_pieces(content: Content) -> set[str]:
    """What the file itself calls a control token, in use or not."""
    return {token["content"] for token in content["added_tokens"] if token["special"]}


def working_copy(content: Content, controls: Set[str]) -> Content:
    """The content that text is encoded with: without marks, limits and chance.

    Control tokens get names with a space inside, which no piece of a text has. By their own names
    they would be found in text: a unigram model takes any piece of its vocabulary.
    """

    def hide(piece: str) -> str:
        return vocabulary_name(piece) if piece in controls and " " not in piece else piece

    model = dict(content["model"])
    vocabulary = model["vocab"]
    if isinstance(vocabulary, dict):
        model["vocab"] = {hide(piece): index for piece, index in vocabulary.items()}
    else:
        model["vocab"] = [[hide(piece), log_prob] for piece, log_prob in vocabulary]
    if model.get("unk_token"):
        model["unk_token"] = hide(model["unk_token"])
    if model.get("dropout"):
        model["dropout"] = None
    added = [
        {**token, "content": hide(token["content"]), "special": token["content"] in controls}
        for token in content["added_tokens"]
    ]
    nothing = dict.fromkeys(("truncation", "padding", "post_processor"))
    return {**content, **nothing, "added_tokens": added, "model": model}


def puts_space(content: Content) -> bool:
    """Whether a space is put before a text, so that its first word is like the others."""
    return _unspaced(content) != content


def splits_at_spaces(content: Content) -> bool:
    """Whether white space only parts words, whatever it is and however much of it."""
    first = next(_steps(content["pre_tokenizer"]), {"type": None})
    return first["type"] in ("WhitespaceSplit", "BertPreTokenizer", "Whitespace")


def continuing(content: Content) -> Content:
    """The content for what goes on with a text: no space is put before it."""
    return content if splits_at_spaces(content) else _unspaced(content)


def _unspaced(content: Content) -> Content:
    normalizer = _without(content["normalizer"], {"Prepend"})
    return {**content, "normalizer": normalizer, "pre_tokenizer": _bare(content["pre_tokenizer"])}


def _without(step: Content | None, types: Set[str]) -> Content | None:
    if step is None or step["type"] in types:
        return None
    if step["type"] != "Sequence":
        return step
    left = (_without(part, types) for part in step["normalizers"])
    kept = [part for part in left if part is not None]
    return {**step, "normalizers": kept} if kept else None


def _bare(step: Content | None) -> Content | None:
    if step is None:
        return None
    if step["type"] == "Sequence":
        return {**step, "pretokenizers": [_bare(part) for part in step["pretokenizers"]]}
    if step["type"] == "ByteLevel":
        return {**step, "add_prefix_space": False}
    return {**step, "prepend_scheme": "never"} if step["type"] == "Metaspace" else step


def _types(*steps: Content | None) -> set[str]:
    return {part["type"] for step in steps for part in _steps(step)}


def _steps(step: Content | None) -> Iterator[Content]:
    """The steps of a pre-tokenizer or decoder, one by one."""
    if step is None:
        return
    parts = step.get("pretokenizers") or step.get("decoders")
    if parts is None:
        yield step
        return
    for part in parts:
        yield from _steps(part)

"""Reads a tokenizer.json of any origin: its pieces, how they spell text, prepended spaces.

A content is the file of the `tokenizers` library as plain data. headway encodes with a copy in
which no text can match a special token; the file itself is not changed.
"""

from collections.abc import Iterator, Set
from typing import Any, Literal

from ..errors import RunError
from ..file_limits import TOKENIZER_STEPS, VOCABULARY_SIZE
from .config import Kind
from .pretokenize import CONTINUES
from .special_tokens import vocabulary_name

Content = dict[str, Any]
Spelling = Literal["bytes", "spaces", "wordpiece", "words", "characters"]
"""Content of a piece: `bytes`, a character for each byte; `spaces`, text with ▁ for a space;
`wordpiece`, a part of a word, after a space unless it continues the word; a word; a character."""

KINDS: dict[str, Kind] = {
    "BPE": "bpe",
    "Unigram": "unigram",
    "WordPiece": "wordpiece",
    "WordLevel": "words",
}
"""The value of `text.kind` for each model type of the library."""


def spelling_of(content: Content) -> Spelling:
    """How the pieces spell text.

    Raises:
        RunError: headway does not support the spelling.
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
        f"the tokenizer spells text in a way that headway does not support ({model['type']} with "
        f"{', '.join(sorted(steps)) or 'no steps'}); expected byte-level pieces, ▁ for "
        f"spaces (Metaspace), or WordPiece with {CONTINUES!r}"
    )


def numbered_pieces(content: Content) -> dict[int, str]:
    """The pieces by id; some ids may have no piece."""
    vocabulary = content["model"]["vocab"]
    if isinstance(vocabulary, dict):
        numbered = {index: piece for piece, index in vocabulary.items()}
    else:  # a unigram model: pieces in order, each with its log probability
        numbered = {index: piece for index, (piece, _) in enumerate(vocabulary)}
    return numbered | {token["id"]: token["content"] for token in content["added_tokens"]}


def check_ids(content: Any) -> None:
    """Refuses ids that the library would count up to, in a file that nothing is known of.

    Raises:
        ValueError: an id is too large.
    """
    vocabulary = content["model"].get("vocab")
    ids = list(vocabulary.values()) if isinstance(vocabulary, dict) else []
    ids += [token["id"] for token in content.get("added_tokens") or ()]
    largest = max((index for index in ids if isinstance(index, int)), default=0)
    if largest >= VOCABULARY_SIZE:
        raise ValueError(f"an id is {largest}; expected less than {VOCABULARY_SIZE}")


def check_steps(content: Content) -> None:
    """Refuses many steps, of which each may double the length of a text.

    Raises:
        ValueError: there are too many.
    """
    for name in ("normalizer", "pre_tokenizer", "decoder"):
        n = _n_steps(content.get(name))
        if n > TOKENIZER_STEPS:
            raise ValueError(f"its {name} has {n} steps; expected at most {TOKENIZER_STEPS}")


def _n_steps(step: Content | None) -> int:
    groups = (step or {}).get
    parts = groups("normalizers") or groups("pretokenizers") or groups("decoders")
    return 1 if parts is None else sum(map(_n_steps, parts))


def special_pieces(content: Content) -> set[str]:
    """The special tokens of the file, used by headway or not."""
    return {token["content"] for token in content["added_tokens"] if token["special"]}


def working_copy(content: Content, specials: Set[str]) -> Content:
    """The content for encoding: without special tokens, truncation, padding and dropout.

    Special tokens get names with a space inside, which no piece of a text has. By their own names
    they would match text: a unigram model uses any piece of its vocabulary.
    """

    def hide(piece: str) -> str:
        return vocabulary_name(piece) if piece in specials and " " not in piece else piece

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
        {**token, "content": hide(token["content"]), "special": token["content"] in specials}
        for token in content["added_tokens"]
    ]
    removed = dict.fromkeys(("truncation", "padding", "post_processor"))
    return {**content, **removed, "added_tokens": added, "model": model}


def prepends_space(content: Content) -> bool:
    """Whether a space is prepended to a text, so that its first word is like the others."""
    return _unspaced(content) != content


def splits_at_spaces(content: Content) -> bool:
    """Whether white space only separates words, in any form and amount."""
    first = next(_steps(content["pre_tokenizer"]), {"type": None})
    return first["type"] in ("WhitespaceSplit", "BertPreTokenizer", "Whitespace")


def without_space(content: Content) -> Content:
    """The content for the continuation of a text, to which no space is prepended."""
    return content if splits_at_spaces(content) else _unspaced(content)


def _unspaced(content: Content) -> Content:
    normalizer = _without(content["normalizer"], {"Prepend"})
    pre_tokenizer = _without_prefix_space(content["pre_tokenizer"])
    return {**content, "normalizer": normalizer, "pre_tokenizer": pre_tokenizer}


def _without(step: Content | None, types: Set[str]) -> Content | None:
    if step is None or step["type"] in types:
        return None
    if step["type"] != "Sequence":
        return step
    left = (_without(part, types) for part in step["normalizers"])
    kept = [part for part in left if part is not None]
    return {**step, "normalizers": kept} if kept else None


def _without_prefix_space(step: Content | None) -> Content | None:
    if step is None:
        return None
    if step["type"] == "Sequence":
        parts = [_without_prefix_space(part) for part in step["pretokenizers"]]
        return {**step, "pretokenizers": parts}
    if step["type"] == "ByteLevel":
        return {**step, "add_prefix_space": False}
    return {**step, "prepend_scheme": "never"} if step["type"] == "Metaspace" else step


def _types(*steps: Content | None) -> set[str]:
    return {part["type"] for step in steps for part in _steps(step)}


def _steps(step: Content | None) -> Iterator[Content]:
    """Yields the steps of a pre-tokenizer or decoder."""
    if step is None:
        return
    parts = step.get("pretokenizers") or step.get("decoders")
    if parts is None:
        yield step
        return
    for part in parts:
        yield from _steps(part)

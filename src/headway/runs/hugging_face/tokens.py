"""The tokenizer of a folder: which of its tokens mark beginning, end, padding and the unknown.

The library says so in several files, by id or by name; a layout says which of its names are ours.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...errors import RunError
from ...models import Vocabularies
from ...text import Frame, Tokenizer
from .folder import CONFIG, GENERATION, Folder
from .layout import Layout

FILE, TARGET = "tokenizer.json", "target/tokenizer.json"
NAMES = ("tokenizer_config.json", "special_tokens_map.json")
IDS = (CONFIG, GENERATION)


def read_tokenizers(
    folder: Folder, layout: Layout, sizes: Vocabularies
) -> tuple[Tokenizer, Tokenizer]:
    """Of source and target; one and the same unless there are two vocabularies.

    Raises:
        RunError: a file is missing or does not fit the model.
    """
    source = _read(folder, layout, FILE, sizes.source)
    if sizes.shared or not layout.has_two_vocabularies:
        return source, source
    return source, _read(folder, layout, TARGET, sizes.target)


def _read(folder: Folder, layout: Layout, name: str, size: int) -> Tokenizer:
    path = folder.path / name
    if not path.exists():
        raise RunError(
            f"{folder.path} has no {name}; write it with transformers: "
            f"AutoTokenizer.from_pretrained({str(folder.path)!r}).save_pretrained(...)"
        )
    roles = _roles(folder, layout, name.removesuffix(FILE))
    frame = layout.frame
    if layout.task != "language":  # whose texts are not framed, but gone on with
        frame = frame_of(_table(folder, name).get("post_processor")) or frame
    tokenizer = Tokenizer.from_hugging_face(path, roles, frame, size)
    if tokenizer.size > size:
        raise RunError(
            f"{path} has {tokenizer.size} tokens and the model embeddings of {size}; give the "
            "folder as it was saved"
        )
    return tokenizer


def frame_of(processor: Any) -> Frame | None:
    """The marks that a tokenizer puts around texts, or None if it tells nothing of them."""
    if not isinstance(processor, Mapping):
        return None
    kind = processor.get("type")
    if kind == "Sequence":
        found = (frame_of(part) for part in processor.get("processors") or ())
        return next((frame for frame in found if frame is not None), None)
    if kind in ("BertProcessing", "RobertaProcessing"):
        return Frame(begin=True, between=1 if kind == "BertProcessing" else 2)
    if kind != "TemplateProcessing":
        return None
    texts = [place for place, part in enumerate(processor["pair"]) if "Sequence" in part]
    if len(texts) != 2:
        return None
    return Frame(begin=texts[0] > 0, between=texts[1] - texts[0] - 1)


def _roles(folder: Folder, layout: Layout, place: str) -> dict[str, str | int]:
    """Which token has each role, by id or by spelling."""
    found: dict[str, str | int] = {}
    for role, names in layout.roles.items():
        said = (token for name in names for token in _tokens(folder, layout, name, place))
        token = next(said, None)
        if token is not None:
            found[role] = token
    return found | _sentinels(_table(folder, f"{place}{FILE}"))


def _sentinels(content: Mapping[str, Any]) -> dict[str, str]:
    """Tokens that stand for spans left out, as T5 names them."""
    added = [token["content"] for token in content.get("added_tokens") or ()]
    named = {name: re.fullmatch(r"<extra_id_(\d+)>", name) for name in added}
    return {f"sentinel_{match[1]}": name for name, match in named.items() if match}


def _tokens(folder: Folder, layout: Layout, name: str, place: str) -> Iterator[str | int]:
    """What the files say of a token, the most reliable first."""
    for file in IDS:
        said = _table(folder, file).get(f"{name}_token_id")
        if isinstance(said, list):  # several ends; the first is the usual one
            said = next(iter(said), None)
        if isinstance(said, int):
            yield said
    for file in NAMES:
        said = _table(folder, f"{place}{file}").get(f"{name}_token")
        if isinstance(said, Mapping):
            said = said.get("content")
        if isinstance(said, str):
            yield said
    if name in layout.usual_ids:
        yield layout.usual_ids[name]


def _table(folder: Folder, name: str) -> dict[str, Any]:
    found = folder.find_json(name)
    return found if isinstance(found, dict) else {}

"""The bytes of each token, and how a search continues a text that the user started.

The bytes of tokens, joined in order, are their text, after a space for tokenizers that put a space
before every word; an opening starts with that space too.
"""

import re
import unicodedata
from collections.abc import Sequence, Set
from typing import TYPE_CHECKING

from ..errors import DataError
from .pretokenize import CONTINUES, byte_values
from .special_tokens import UNKNOWN
from .tokenizer_json import Spelling

if TYPE_CHECKING:
    from .tokenizer import Tokenizer

_BYTE = re.compile("<0x([0-9A-F]{2})>")  # a piece for a byte that no other piece covers


def spell(
    pieces: Sequence[str], spelling: Spelling, silent: Set[int], unknown: int | None
) -> list[bytes]:
    """The bytes that each piece of a vocabulary adds to a text.

    Args:
        silent: ids that add no text, such as special tokens.
        unknown: the id of the unknown token, if it adds text.
    """
    spelled = [
        b"" if index in silent else _spelling(piece, spelling) for index, piece in enumerate(pieces)
    ]
    if unknown is not None:
        spelled[unknown] = _spelling(UNKNOWN, spelling)
    return spelled


def _spelling(piece: str, spelling: Spelling) -> bytes:
    if spelling == "bytes":
        return piece_bytes(piece)
    if spelling == "characters":
        return piece.encode()
    if spelling == "spaces":
        byte = _BYTE.fullmatch(piece)
        return bytes([int(byte[1], 16)]) if byte else piece.replace("▁", " ").encode()
    if spelling == "wordpiece" and piece.startswith(CONTINUES):
        return piece.removeprefix(CONTINUES).encode()
    return b" " + piece.encode()


def piece_bytes(piece: str) -> bytes:
    """The bytes of a byte-level piece; a piece added by hand may be plain text."""
    values = byte_values()
    if all(symbol in values for symbol in piece):
        return bytes(values[symbol] for symbol in piece)
    return piece.encode()


def split_prefix(tokenizer: "Tokenizer", text: str) -> tuple[list[int], bytes]:
    """The tokens of the complete words of `text`, and the bytes of its last word, which is open.

    If the text ends in a space, the bytes are that space. Characters and bytes have a single
    tokenization, so that all of `text` becomes tokens.

    Args:
        text: the prefix of an output, not blank.

    Raises:
        DataError: the vocabulary cannot express the text.
    """
    clean = tokenizer.clean(text)
    if tokenizer.settings.kind in ("characters", "bytes"):
        closed, opening = clean, b""
    else:
        # A word starts with its space, even the first word if a space is prepended to a text.
        has_lead = tokenizer.prepends_space or tokenizer.splits_at_spaces
        if tokenizer.splits_at_spaces:
            last = " " if text[-1:].isspace() else ""
            clean = "".join(f" {word}" for word in clean.split()) + last
        elif has_lead:
            clean = f" {clean}"
        spaces = (index for index, character in enumerate(clean) if character.isspace())
        cut = max(spaces, default=0)
        closed = clean[int(has_lead) : cut]
        opening = (clean[cut:] if closed else clean).encode()
    tokens = tokenizer.encode(closed) if closed else []
    if tokenizer.spelling != "bytes":
        _check(tokenizer, text, tokens, opening)
    return tokens, opening


def split_prompt(tokenizer: "Tokenizer", text: str) -> tuple[list[int], bytes]:
    """The tokens of a prompt, and the bytes with which its continuation must start.

    A space at the end of the prompt belongs to the next word, as in the training text of every
    vocabulary of words or sub-words: the next word has to start with it.
    """
    is_exact = tokenizer.settings.kind in ("characters", "bytes")
    if is_exact or not text.endswith(" ") or not text[-2:-1].strip():
        return tokenizer.encode(text), b""
    return tokenizer.encode(text[:-1]), b" "


def _check(tokenizer: "Tokenizer", text: str, tokens: Sequence[int], opening: bytes) -> None:
    if tokenizer.specials["unk"] in tokens:
        raise DataError(
            f"the prefix {text!r} cannot be encoded: its tokens decode to "
            f"{tokenizer.decode(tokens)!r}; use words of the training data"
        )
    if not can_spell(opening, tokenizer.spellings()):
        raise DataError(
            f"the prefix {text!r} cannot be encoded: no word of the vocabulary starts with "
            f"{opening.decode().strip()!r}; use words of the training data"
        )


def can_spell(opening: bytes, spellings: Sequence[bytes]) -> bool:
    """Whether a sequence of tokens has a text that starts with `opening`."""
    can_finish = [False] * len(opening) + [True]
    for start in reversed(range(len(opening))):
        rest = opening[start:]
        can_finish[start] = any(
            added.startswith(rest) or (rest.startswith(added) and can_finish[start + len(added)])
            for added in spellings
            if added
        )
    return can_finish[0]


SPACE = "▁"  # replaces a space, with which most words start


def readable(piece: str, spelling: Spelling) -> str:
    """A piece in readable characters: ▁ is a space, <0xE5> a byte that is no whole character."""
    if spelling == "bytes":
        piece = piece_bytes(piece).decode("utf-8", errors="surrogateescape")
    return "".join(map(_show_character, piece))


def _show_character(character: str) -> str:
    if character == " ":
        return SPACE
    if "\udc80" <= character <= "\udcff":  # a byte that `surrogateescape` could not decode
        return f"<0x{ord(character) - 0xDC00:02X}>"
    if unicodedata.category(character) == "Cc":
        return "".join(f"<0x{byte:02X}>" for byte in character.encode("utf-8"))
    return character

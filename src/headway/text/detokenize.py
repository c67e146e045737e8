"""What each token writes, in bytes, and how a search takes up a text that someone began.

Joined in order, spellings are the text of the tokens, behind one space for the kinds that put a
space before every word; that space belongs to an opening too.
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

_BYTE = re.compile("<0x([0-9A-F]{2})>")  # a piece that is a byte, for what no other piece spells


def spell(
    pieces: Sequence[str], spelling: Spelling, silent: Set[int], unknown: int | None
) -> list[bytes]:
    """The bytes that each piece of a vocabulary adds to a text.

    Args:
        silent: ids that add none, such as control tokens.
        unknown: the id of the unknown, where it is shown.
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
    """The bytes of a byte-level piece; one that was added by hand may be plain text."""
    values = byte_values()
    if all(symbol in values for symbol in piece):
        return bytes(values[symbol] for symbol in piece)
    return piece.encode()


def begin(tokenizer: "Tokenizer", text: str) -> tuple[list[int], bytes]:
    """The tokens of the complete words of `text`, and the bytes of the last one, which may go on.

    A text that ends in a space has no open word: the bytes are that space. Characters and bytes can
    be written in one way only, so that all of `text` is tokens.

    Args:
        text: the beginning of an output, not blank.

    Raises:
        DataError: the vocabulary cannot write the text.
    """
    written = tokenizer.clean(text)
    if tokenizer.settings.kind in ("characters", "bytes"):
        closed, opening = written, b""
    else:
        # Here a word begins with its space: the first one too, if a space is put before a text.
        lead = tokenizer.puts_space or tokenizer.parts_words
        if tokenizer.parts_words:
            last = " " if text[-1:].isspace() else ""
            written = "".join(f" {word}" for word in written.split()) + last
        elif lead:
            written = f" {written}"
        spaces = (place for place, character in enumerate(written) if character.isspace())
        cut = max(spaces, default=0)
        closed = written[int(lead) : cut]
        opening = (written[cut:] if closed else written).encode()
    tokens = tokenizer.encode(closed) if closed else []
    if tokenizer.spelling != "bytes":
        _check(tokenizer, text, tokens, opening)
    return tokens, opening


def take_up(tokenizer: "Tokenizer", text: str) -> tuple[list[int], bytes]:
    """The tokens of a text that goes on, and the bytes that must come next.

    A space at its end belongs to the word that follows, as in every text that a vocabulary of words
    or pieces of words was learned from: it is left to that word, which has to begin with it.
    """
    whole = tokenizer.settings.kind in ("characters", "bytes")
    if whole or not text.endswith(" ") or not text[-2:-1].strip():
        return tokenizer.encode(text), b""
    return tokenizer.encode(text[:-1]), b" "


def _check(tokenizer: "Tokenizer", text: str, tokens: Sequence[int], opening: bytes) -> None:
    if tokenizer.specials["unk"] in tokens:
        raise DataError(
            f"the prefix {text!r} cannot be written: the vocabulary reads it as "
            f"{tokenizer.decode(tokens)!r}; use words of the training data"
        )
    if not can_spell(opening, tokenizer.spellings()):
        raise DataError(
            f"the prefix {text!r} cannot be written: no word of the vocabulary begins with "
            f"{opening.decode().strip()!r}; use words of the training data"
        )


def can_spell(opening: bytes, spellings: Sequence[bytes]) -> bool:
    """Whether some tokens in a row write a text that begins with `opening`."""
    within = [False] * len(opening) + [True]
    for place in reversed(range(len(opening))):
        rest = opening[place:]
        within[place] = any(
            written.startswith(rest) or (rest.startswith(written) and within[place + len(written)])
            for written in spellings
            if written
        )
    return within[0]


SPACE = "▁"  # shown for a space, which is where most words start


def readable(piece: str, spelling: Spelling) -> str:
    """A piece in real characters: ▁ is a space, <0xE5> a byte that is no whole character."""
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

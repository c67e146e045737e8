"""Pieces of a vocabulary as a person reads them."""

import unicodedata

from headway.text.layout import Spelling
from headway.text.spelling import piece_bytes

SPACE = "▁"  # shown for a space, which is where most words start


def show(piece: str, spelling: Spelling) -> str:
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

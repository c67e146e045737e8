"""What each token writes, in bytes, and how a search takes up a text that someone began.

Joined in order, spellings are the text of the tokens, behind one space for the kinds that put a
space before every word; that space belongs to an opening too.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from headway.errors import DataError
from headway.text.config import LOSSLESS, Kind
from headway.text.normalise import build_normalizer
from headway.text.specials import UNKNOWN
from headway.text.split import CONTINUES, byte_values

if TYPE_CHECKING:
    from headway.text.tokenizer import Tokenizer


def spell(pieces: Sequence[str], specials: Mapping[str, int], kind: Kind) -> list[bytes]:
    """The bytes that each piece of a vocabulary adds to a text.

    Control tokens add none, but for the unknown of the kinds that show it.
    """
    controls = set(specials.values())
    spelled = [
        b"" if index in controls else _spelling(piece, kind) for index, piece in enumerate(pieces)
    ]
    if kind not in LOSSLESS:
        spelled[specials["unk"]] = _spelling(UNKNOWN, kind)
    return spelled


def _spelling(piece: str, kind: Kind) -> bytes:
    if kind in LOSSLESS:
        values = byte_values()
        return bytes(values[symbol] for symbol in piece)
    if kind == "characters":
        return piece.encode()
    if kind == "wordpiece" and piece.startswith(CONTINUES):
        return piece.removeprefix(CONTINUES).encode()
    return b" " + piece.encode()


def begin(tokenizer: "Tokenizer", text: str) -> tuple[list[int], bytes]:
    """The tokens of the complete words of `text`, and the bytes of the last one, which may go on.

    A text that ends in a space has no open word: the bytes are that space. Characters and bytes can
    be written in one way only, so that all of `text` is tokens.

    Args:
        text: the beginning of an output, not blank.

    Raises:
        DataError: the vocabulary cannot write the text.
    """
    kind = tokenizer.settings.kind
    normalizer = build_normalizer(tokenizer.settings)
    normal = normalizer.normalize_str(text) if normalizer is not None else text
    if kind in ("characters", "bytes"):
        closed, opening = normal, b""
    else:
        # In every one of these kinds a word begins with its space, also the first one.
        if kind in ("words", "wordpiece"):
            last = " " if text[-1:].isspace() else ""
            normal = "".join(f" {word}" for word in normal.split()) + last
        cut = max(place for place, character in enumerate(normal) if character.isspace())
        closed = normal[1:cut]
        opening = (normal[cut:] if closed else normal).encode()
    tokens = tokenizer.encode(closed) if closed else []
    if kind not in LOSSLESS:
        _check(tokenizer, text, tokens, opening)
    return tokens, opening


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

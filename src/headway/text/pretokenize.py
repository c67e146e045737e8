"""Splitting of a text into words before pieces are learned or looked up, and joining of pieces.

Pieces never cross these boundaries. Training is in `train.py`.
"""

from collections.abc import Callable
from functools import cache

from tokenizers import Regex, decoders, normalizers, pre_tokenizers

from .config import TokenizerConfig

CONTINUES = "##"  # WordPiece's prefix of a piece that continues a word

# Letters with their combining marks and inner apostrophes (so that Arabic, Hindi and "man's" stay
# whole), single digits (so that numbers can be copied digit by digit), other signs, white space. A
# space belongs to the word after it. No run is longer than 32, which bounds the work on scripts
# without spaces and on long lines of dashes.
WORDS = (
    r" ?['’]?[\p{L}\p{M}]{1,32}(?:['’][\p{L}\p{M}]{1,32}){0,3}"
    r"| ?\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]{1,32}"
    r"|\s{1,32}(?!\S)"
    r"|\s"
)


def byte_alphabet() -> list[str]:
    """The 256 characters that represent bytes, in a fixed order."""
    return sorted(pre_tokenizers.ByteLevel.alphabet())


def build_pre_tokenizer(config: TokenizerConfig) -> pre_tokenizers.PreTokenizer:
    """The pre-tokenizer, which splits a normalised text."""
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    if config.kind in ("bpe", "unigram"):
        return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(WORDS), "isolated"), to_bytes])
    if config.kind == "bytes":
        return to_bytes
    if config.kind == "characters":
        return pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    return pre_tokenizers.WhitespaceSplit()


def build_cutter(
    normalizer: normalizers.Normalizer | None, pre_tokenizer: pre_tokenizers.PreTokenizer
) -> Callable[[str], list[str]]:
    """A function that normalises a text and splits it into words, in the characters of pieces."""

    def cut(text: str) -> list[str]:
        normal = normalizer.normalize_str(text) if normalizer is not None else text
        return [word for word, _ in pre_tokenizer.pre_tokenize_str(normal)]

    return cut


def build_decoder(config: TokenizerConfig) -> decoders.Decoder | None:
    """The decoder, which joins pieces; None, for `words`, joins them with a space."""
    if config.kind in ("bpe", "unigram"):
        # Strips the space that `build_normalizer` prepended.
        return decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    if config.kind == "bytes":
        return decoders.ByteLevel()
    if config.kind == "characters":
        return decoders.Fuse()
    if config.kind == "wordpiece":
        return decoders.WordPiece(prefix=CONTINUES, cleanup=False)
    return None


@cache
def byte_values() -> dict[str, int]:
    """The byte of each character of `byte_alphabet`.

    The rule is GPT-2's: a byte that is printable in Latin-1 is its own character, the others are
    U+0100 and following, in order.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(0x100) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {
        chr(0x100 + index): byte for index, byte in enumerate(others)
    }

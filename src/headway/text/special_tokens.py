"""Special tokens of the tokenizers that headway trains: their ids, and names in the vocabulary.

An imported tokenizer has its own: use `Tokenizer.specials` for ids. A name contains a space, which
no learned piece can contain (bytes are spelled without it, words end at it, characters have length
1), so a text that looks like a special token is text for every tokenizer, however often it occurs
in the training data.
"""

from collections.abc import Sequence
from dataclasses import dataclass

PAD = 0
BOS = 1
EOS = 2
UNK = 3

SPECIALS = ("pad", "bos", "eos", "unk")


def all_specials(extra: Sequence[str]) -> dict[str, int]:
    """The ids of the special tokens by name; `extra` ones (mask, sep, ...) start at 4."""
    names = (*SPECIALS, *extra)
    for name in names:
        if not name.isidentifier():
            raise ValueError(
                f"special token {name!r} is not a plain name; use letters, as in 'mask'"
            )
    if len(set(names)) < len(names):
        raise ValueError(f"special tokens {', '.join(names)} are not distinct; name each once")
    return {name: index for index, name in enumerate(names)}


def vocabulary_name(special: str) -> str:
    """The name of a special token in the vocabulary of tokenizer.json."""
    return f"< {special} >"


def display_name(special: str) -> str:
    """The name of a special token for people."""
    return f"⟨{special}⟩"


UNKNOWN = display_name(SPECIALS[UNK])


@dataclass(frozen=True)
class SpecialTokenTemplate:
    """The special tokens around a text for an encoder: `a eos` or `bos a eos`.

    A pair is `bos a eos b eos`, or has more EOS between the texts.

    Attributes:
        begin: whether BOS is added.
        between: number of EOS between the two texts of a pair.
    """

    begin: bool = False
    between: int = 1

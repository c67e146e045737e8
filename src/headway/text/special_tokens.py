"""Control tokens of the tokenizers that headway learns: their ids, and their names in a vocabulary.

A tokenizer from elsewhere has its own: whoever needs an id asks the tokenizer. A name holds a
space, and no learned piece ever can (bytes are spelled without it, words end at it, characters are
one long), so a text that looks like a control token is text with every kind of tokenizer, however
often it stands in the training data.
"""

from collections.abc import Sequence
from dataclasses import dataclass

PAD = 0
BOS = 1
EOS = 2
UNK = 3

SPECIALS = ("pad", "bos", "eos", "unk")


def all_specials(extra: Sequence[str]) -> dict[str, int]:
    """The ids of the control tokens by name; `extra` ones (mask, sep, ...) follow from 4."""
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
    """How a control token is written in the vocabulary of tokenizer.json."""
    return f"< {special} >"


def shown_name(special: str) -> str:
    """How a control token is shown to a person."""
    return f"⟨{special}⟩"


UNKNOWN = shown_name(SPECIALS[UNK])


@dataclass(frozen=True)
class SpecialTokenTemplate:
    """The marks around a text that is only read: `a eos` or `bos a eos`.

    Around a pair `bos a eos b eos`, or with more marks between.

    Attributes:
        begin: whether the begin mark is there.
        between: how many end marks stand between the two texts of a pair.
    """

    begin: bool = False
    between: int = 1

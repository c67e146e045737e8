"""The marks around texts that are only read, as a tokenizer keeps them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Frame:
    """`a eos` or `bos a eos`; of a pair `bos a eos b eos`, or with more marks between.

    Attributes:
        begin: whether the begin mark is there.
        between: how many end marks stand between the two texts of a pair.
    """

    begin: bool = False
    between: int = 1

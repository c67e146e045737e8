"""The settings of a tokenizer, as a run file gives them.

What each kind does with them is in `split.py` (how text is cut) and `learn.py` (what is learned).
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Lt

Kind = Literal["bpe", "unigram", "wordpiece", "words", "characters", "bytes"]
Normalise = Literal["none", "nfc", "nfkc"]


@dataclass(frozen=True)
class TokenizerConfig:
    """How text becomes tokens."""

    kind: Kind = "bpe"
    """`bpe`, `unigram` and `bytes` give back any text exactly; `wordpiece`, `words` (cut at
    whitespace only) and `characters` know what stood in the training text, the rest is unknown."""
    size: Annotated[int, Ge(1)] | None = None
    """Number of tokens, control tokens included. Left out: chosen from the size of the corpus for
    `bpe`, `unigram` and `wordpiece`; everything that occurs for `words` and `characters`."""
    dropout: Annotated[float, Ge(0.0), Lt(1.0)] = 0.0
    """BPE dropout: the chance that a merge is left out while training, so that a word is seen cut
    in several ways (0.1 is usual). Only for `bpe`; never used when a trained model reads text."""
    normalise: Normalise = "none"
    """Unicode normalisation before anything else: `nfc` joins letters and accents, `nfkc` also
    replaces look-alikes (ﬁ, ２, ™). What it changes does not come back."""
    lowercase: bool = False
    """Whether everything is put in lower case, which does not come back either."""
    min_count: Annotated[int, Ge(1)] = 1
    """A word or character seen less often is unknown. Only for `words` and `characters`."""

    def __post_init__(self) -> None:
        if self.dropout and self.kind != "bpe":
            raise ValueError(
                f"dropout={self.dropout} needs kind='bpe', not kind={self.kind!r}; "
                "leave dropout out"
            )
        if self.min_count > 1 and self.kind not in ("words", "characters"):
            raise ValueError(
                f"min_count={self.min_count} needs kind='words' or 'characters', "
                f"not kind={self.kind!r}; leave min_count out"
            )
        if self.size is not None and self.kind == "bytes":
            raise ValueError(
                f"size={self.size} has no meaning with kind='bytes', "
                "which always has all 256 bytes; leave size out"
            )

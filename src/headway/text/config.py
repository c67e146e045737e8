"""The settings of a tokenizer, as in a run file.

They are applied in `normalize.py` and `pretokenize.py` (splitting of text) and `train.py`.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Lt

Kind = Literal["bpe", "unigram", "wordpiece", "words", "characters", "bytes"]
Normalise = Literal["none", "nfc", "nfkc"]


@dataclass(frozen=True)
class TokenizerConfig:
    """Settings of a tokenizer."""

    kind: Kind = "bpe"
    """`bpe`, `unigram` and `bytes` reproduce any text exactly; `wordpiece`, `words` (split at
    whitespace only) and `characters` know only the training text, and the rest is unknown."""
    size: Annotated[int, Ge(1)] | None = None
    """Number of tokens, special tokens included. Default: chosen from the size of the corpus for
    `bpe`, `unigram` and `wordpiece`; all that occur for `words` and `characters`."""
    dropout: Annotated[float, Ge(0.0), Lt(1.0)] = 0.0
    """BPE dropout: the probability that a merge is skipped in training, so that the model sees a
    word split in several ways (0.1 is usual). Only for `bpe`; never used after training."""
    normalise: Normalise = "none"
    """Unicode normalisation before anything else: `nfc` joins letters and accents, `nfkc` also
    replaces look-alikes (ﬁ, ２, ™). Decoding does not restore the original."""
    lowercase: bool = False
    """Convert text to lower case, which decoding does not restore either."""
    min_count: Annotated[int, Ge(1)] = 1
    """A word or character that occurs less often is unknown. Only for `words` and `characters`."""

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

"""Text to numbers and back: normalising, tokenizers, control tokens. Imports no torch."""

from headway.text.bpe_trace import Merge, bpe_merges
from headway.text.config import TokenizerConfig
from headway.text.frame import Frame
from headway.text.learn import train_tokenizer, vocabulary_size
from headway.text.specials import BOS, EOS, PAD, UNK
from headway.text.tokenizer import Tokenizer

__all__ = [
    "BOS",
    "EOS",
    "PAD",
    "UNK",
    "Frame",
    "Merge",
    "Tokenizer",
    "TokenizerConfig",
    "bpe_merges",
    "train_tokenizer",
    "vocabulary_size",
]

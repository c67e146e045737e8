"""Tokenizers: text to ids and back, normalisation, special tokens. Imports no torch."""

from .config import TokenizerConfig
from .special_tokens import BOS, EOS, PAD, UNK, SpecialTokenTemplate
from .tokenizer import Tokenizer
from .train import train_tokenizer, vocabulary_size

__all__ = [
    "BOS",
    "EOS",
    "PAD",
    "UNK",
    "SpecialTokenTemplate",
    "Tokenizer",
    "TokenizerConfig",
    "train_tokenizer",
    "vocabulary_size",
]

"""Normalisation of a text before it is split: Unicode normalisation and lower case.

It uses the normalizers of the `tokenizers` library, so that tokenizer.json contains it and every
reader of that file applies it.
"""

from tokenizers import normalizers

from .config import TokenizerConfig


def build_normalizer(config: TokenizerConfig) -> normalizers.Normalizer | None:
    """The steps of `config`, in order, or None if the text is not changed.

    BPE and Unigram prepend a space to every text, so that a word at the start is the same token as
    inside a sentence. It is always prepended (even before a space) and always stripped, which keeps
    decoding exact.
    """
    steps: list[normalizers.Normalizer] = []
    if config.normalise == "nfc":
        steps.append(normalizers.NFC())
    if config.normalise == "nfkc":
        steps.append(normalizers.NFKC())
    if config.lowercase:
        steps.append(normalizers.Lowercase())
    if config.kind in ("bpe", "unigram"):
        steps.append(normalizers.Prepend(" "))
    return normalizers.Sequence(steps) if steps else None

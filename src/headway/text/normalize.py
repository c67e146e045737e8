"""What is done to a text before it is cut: Unicode normalisation and lower case.

It is made of the normalizers of the `tokenizers` library, so that tokenizer.json carries it and
any reader of that file does the same.
"""

from tokenizers import normalizers

from .config import TokenizerConfig


def build_normalizer(config: TokenizerConfig) -> normalizers.Normalizer | None:
    """The steps that `config` asks for, in order, or None when the text is taken as it is.

    Sub-word kinds put one space before every text, so that a word at the start is the same token
    as inside a sentence. It is put there always (even before a space) and taken off always, which
    keeps decoding exact.
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

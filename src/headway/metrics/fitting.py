"""Which metric and which tokenisation fit some references.

BLEU counts sequences of four words. It is 0 for targets of up to three words, and for text without
spaces that is not cut into words.
"""

from collections.abc import Iterable, Sequence

BLEU_ORDER = 4
SAMPLE = 500
KANA = range(0x3040, 0x3100)
UNSPACED = (
    range(0x0E00, 0x0F00),  # Thai, Lao
    range(0x1000, 0x10A0),  # Myanmar
    range(0x1780, 0x1800),  # Khmer
    range(0x2E80, 0x3040),  # radicals and punctuation of Chinese and Japanese
    KANA,
    range(0x3400, 0xA000),  # Chinese characters
    range(0x20000, 0x30000),
)
"""Code points of scripts that put no spaces between words."""


def fitting_metric(references: Sequence[str]) -> str:
    """The text metric for validations: `bleu`, or `chrf` or `exact` if BLEU would be mostly 0."""
    sample = _spread(references)
    if is_unspaced(sample):
        return "chrf"
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a  # not for those who only translate

    tokenize = Tokenizer13a()
    n_long = sum(len(tokenize(text).split()) >= BLEU_ORDER for text in sample)
    return "bleu" if 2 * n_long >= len(sample) else "exact"


def bleu_tokenizer(references: Sequence[str]) -> str:
    """sacrebleu's tokenizer for plain references: `13a`, or `zh` or `char` for unspaced scripts."""
    sample = _spread(references)
    if not is_unspaced(sample):
        return "13a"
    has_other = any(_share(sample, [block]) > 0.05 for block in (*UNSPACED[:3], KANA))
    return "char" if has_other else "zh"


def is_unspaced(texts: Sequence[str]) -> bool:
    """Whether most letters are of scripts without spaces between words."""
    return _share(texts, UNSPACED) > 0.5


def _share(texts: Iterable[str], blocks: Sequence[range]) -> float:
    """The share of the letters that are in some blocks."""
    letters = [ord(letter) for text in texts for letter in text if letter.isalpha()]
    inside = sum(any(letter in block for block in blocks) for letter in letters)
    return inside / max(1, len(letters))


def _spread(texts: Sequence[str]) -> Sequence[str]:
    """At most `SAMPLE` of the texts, at equal distances."""
    return texts[:: max(1, -(-len(texts) // SAMPLE))]

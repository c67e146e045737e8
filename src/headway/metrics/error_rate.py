"""Error rates: edit distance over words, characters or phonemes, and wrong outputs.

Of several references the nearest counts. Nothing is normalised: case and punctuation are part of a
word.
"""

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from .interval import RESAMPLES, SEED, bootstrap, wilson
from .metric import Metric
from .references import References, alternatives, count_label
from .score import Score


def edit_distance(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """Levenshtein distance: the smallest number of insertions, deletions and substitutions.

    Bit-parallel (Myers 1999 in the form of Hyyrö 2003): a whole column of the table is two Python
    integers, one bit per symbol of `first`, so one symbol of `second` costs a few operations.
    """
    n = len(first)
    if n == 0:
        return len(second)
    bits: dict[Hashable, int] = {}  # the positions of each symbol in `first`
    for i, symbol in enumerate(first):
        bits[symbol] = bits.get(symbol, 0) | 1 << i
    ones, last = (1 << n) - 1, 1 << (n - 1)
    rises, falls, distance = ones, 0, n  # vertical differences +1 and -1 of the current column
    for symbol in second:
        match = bits.get(symbol, 0)
        vertical = match | falls
        diagonal = (((match & rises) + rises) ^ rises) | match
        up, down = falls | (ones & ~(diagonal | rises)), rises & diagonal
        if up & last:
            distance += 1
        elif down & last:
            distance -= 1
        up, down = (up << 1 | 1) & ones, (down << 1) & ones
        rises, falls = down | (ones & ~(vertical | up)), up & vertical
    return distance


def sequence_error_rate(outputs: Sequence[str], references: References) -> Score:
    """Share of outputs that equal none of their references, in percent.

    White space separates the compared symbols. Papers on grapheme-to-phoneme conversion call this
    the word error rate: each distinct word is one entry, correct or wrong as a whole.
    """
    rows = alternatives(outputs, references)
    wrong = sum(
        all(output.split() != item.split() for item in row)
        for output, row in zip(outputs, rows, strict=True)
    )
    low, high = wilson(wrong, len(rows))
    signature = f"ser|any-of-references|n:{len(rows)}|nrefs:{count_label(rows)}|interval:wilson95"
    return Score("SER", 100 * wrong / len(rows), 100 * low, 100 * high, signature)


def word_error_rate(
    outputs: Sequence[str],
    references: References,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Score:
    """Edits to the nearest reference over its length in words, in percent, as for speech."""
    key = "wer|edits-of-words"  # `wer` of run directories of format 1 is `ser`
    return _edit_rate("WER", key, str.split, outputs, references, resamples, seed)


def phoneme_error_rate(
    outputs: Sequence[str],
    references: References,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Score:
    """Edits to the nearest reference over its length in symbols between spaces, in percent.

    If the symbols are words, this is `word_error_rate`.
    """
    return _edit_rate("PER", "per", str.split, outputs, references, resamples, seed)


def character_error_rate(
    outputs: Sequence[str],
    references: References,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Score:
    """Edits to the nearest reference over its length in Unicode characters, in percent."""
    return _edit_rate("CER", "cer", list, outputs, references, resamples, seed)


def _edit_rate(
    name: str,
    key: str,
    split: Callable[[str], list[str]],
    outputs: Sequence[str],
    references: References,
    resamples: int,
    seed: int,
) -> Score:
    rows = alternatives(outputs, references)
    statistics = np.empty((len(rows), 2))
    for i, (output, row) in enumerate(zip(outputs, rows, strict=True)):
        symbols = split(output)
        candidates = [(edit_distance(symbols, split(item)), len(split(item))) for item in row]
        statistics[i] = min(candidates, key=lambda edits_and_length: edits_and_length[0])
    low = high = None
    interval = "interval:none"
    if resamples > 0:
        low, high = bootstrap(statistics, _percent, resamples, seed)
        interval = f"interval:bootstrap95|bs:{resamples}|seed:{seed}"
    signature = f"{key}|nearest-reference|n:{len(rows)}|nrefs:{count_label(rows)}|{interval}"
    return Score(name, _percent(statistics.sum(axis=0)), low, high, signature)


def _percent(sums: np.ndarray) -> float:
    edits, length = float(sums[0]), float(sums[1])
    if length == 0:  # only empty references: all right, or all wrong
        return 100.0 if edits else 0.0
    return 100 * edits / length


ERROR_RATES = {
    "wer": Metric("WER", word_error_rate, lower_is_better=True),
    "cer": Metric("CER", character_error_rate, lower_is_better=True),
    "ser": Metric("SER", sequence_error_rate, lower_is_better=True, takes_resamples=False),
    "per": Metric("PER", phoneme_error_rate, lower_is_better=True),
}

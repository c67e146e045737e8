"""Byte-pair encoding step by step: each merge, its count and its ties.

Written to be followed by eye. `text/train.py` trains real tokenizers, on bytes.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

END = "</w>"
TIE_RULE = "of equally frequent pairs the first in alphabetical order is merged"

Pair = tuple[str, str]
Words = dict[tuple[str, ...], int]


@dataclass(frozen=True)
class Merge:
    """One step: `pair` and each of `ties` occurred `count` times; `words` is the text after it."""

    pair: Pair
    count: int
    ties: tuple[Pair, ...]
    words: Words

    def __str__(self) -> str:
        line = f"{' + '.join(self.pair)} -> {''.join(self.pair)} ({self.count} times)"
        if self.ties:
            tied = ", ".join(" + ".join(pair) for pair in self.ties)
            line += f"; tied with {tied}: {TIE_RULE}"
        return line


def bpe_merges(word_counts: Mapping[str, int], n: int) -> list[Merge]:
    """The first `n` merges learned from words and their counts (fewer if nothing is left to merge).

    Every word starts as its characters and an end-of-word symbol. Each step counts the adjacent
    pairs, merges the most frequent and starts again. Of equally frequent pairs the first in
    alphabetical order (left symbol, then right) is merged, whatever the order of the words.
    """
    words: Words = {(*word, END): count for word, count in word_counts.items()}
    merges: list[Merge] = []
    while len(merges) < n:
        counts = count_pairs(words)
        if not counts:
            break
        most = max(counts.values())
        best, *ties = sorted(pair for pair, count in counts.items() if count == most)
        words = merge_pair(words, best)
        merges.append(Merge(best, most, tuple(ties), words))
    return merges


def count_pairs(words: Words) -> Counter[Pair]:
    """The number of times that each two symbols are adjacent."""
    counts: Counter[Pair] = Counter()
    for symbols, count in words.items():
        for pair in pairwise(symbols):
            counts[pair] += count
    return counts


def merge_pair(words: Words, pair: Pair) -> Words:
    """The words with every occurrence of `pair` merged into one symbol, from left to right."""
    merged: Words = {}
    for symbols, count in words.items():
        out: list[str] = []
        at = 0
        while at < len(symbols):
            if symbols[at : at + 2] == pair:
                out.append("".join(pair))
                at += 2
            else:
                out.append(symbols[at])
                at += 1
        merged[tuple(out)] = merged.get(tuple(out), 0) + count
    return merged

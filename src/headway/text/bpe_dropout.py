"""BPE dropout (Provilkov et al. 2020) as a pure function of a key.

The `tokenizers` library drops merges with a generator that cannot be seeded, so words are merged
here, with the library's vocabulary and merges. The library still splits text into words.
"""

import random
from collections.abc import Mapping, Sequence
from itertools import pairwise

_CACHE_ENTRIES = 100_000
_CACHE_LENGTH = 32  # longer words seldom recur


class BpeDropout:
    """Splits words into pieces, skipping each possible merge with probability `rate`."""

    def __init__(
        self, vocabulary: Mapping[str, int], merges: Sequence[tuple[str, str]], rate: float
    ) -> None:
        self.rate = rate
        self._ids = vocabulary
        self._merges = {
            (vocabulary[left], vocabulary[right]): (rank, vocabulary[left + right])
            for rank, (left, right) in enumerate(merges)
        }
        self._candidates: dict[tuple[int, ...], list[tuple[int, int]]] = {}

    def cut(self, word: str, rng: random.Random) -> tuple[int, ...]:
        """The ids of the pieces of a word.

        At every step the possible merges are tried in the order in which they were learned, each
        dropped with probability `rate`; the first not dropped is applied. It ends when all are
        dropped.
        """
        symbols = tuple(self._ids[character] for character in word)
        while True:
            for position, merged in self._possible(symbols):
                if rng.random() >= self.rate:
                    symbols = (*symbols[:position], merged, *symbols[position + 2 :])
                    break
            else:
                return symbols

    def _possible(self, symbols: tuple[int, ...]) -> list[tuple[int, int]]:
        """(position, id of the merged piece) of every possible merge, in the order of learning."""
        cached = self._candidates.get(symbols)
        if cached is not None:
            return cached
        ranked = []
        for position, pair in enumerate(pairwise(symbols)):
            merge = self._merges.get(pair)
            if merge is not None:
                rank, merged = merge
                ranked.append((rank, position, merged))
        possible = [(position, merged) for _, position, merged in sorted(ranked)]
        if len(symbols) <= _CACHE_LENGTH:
            if len(self._candidates) >= _CACHE_ENTRIES:
                self._candidates.clear()
            self._candidates[symbols] = possible
        return possible

"""BPE dropout (Provilkov et al. 2020) as a pure function of a key.

The library's own dropout draws from a generator that cannot be seeded, so the merging is done here,
over the library's vocabulary and merges. Cutting into words stays with the library.
"""

import random
from collections.abc import Mapping, Sequence
from itertools import pairwise

_CACHE_ENTRIES = 100_000
_CACHE_LENGTH = 32  # longer words hardly ever come back


class BpeDropout:
    """Cuts words into pieces, leaving out each possible merge with probability `rate`."""

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
        """The pieces of one word.

        At every step the possible merges are tried from the first learned to the last, each
        dropped with probability `rate`; the first not dropped is made. It ends when all are.
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
        """(position, id of the merged piece) of every merge, the first learned first."""
        known = self._candidates.get(symbols)
        if known is not None:
            return known
        found = []
        for position, pair in enumerate(pairwise(symbols)):
            merge = self._merges.get(pair)
            if merge is not None:
                rank, merged = merge
                found.append((rank, position, merged))
        possible = [(position, merged) for _, position, merged in sorted(found)]
        if len(symbols) <= _CACHE_LENGTH:
            if len(self._candidates) >= _CACHE_ENTRIES:
                self._candidates.clear()
            self._candidates[symbols] = possible
        return possible

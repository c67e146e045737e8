"""Counts of n-grams and of skip pairs, as sorted arrays of integers.

The number of a context is its index in a sorted array of keys. A key is the number of the context
that is one word shorter, times V, plus the word before it. The words after a context are a second
sorted array, of keys `context * V + next word`. So a million tokens need some sorting and no
dictionaries. `markov.py` turns the counts into probabilities.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

# The first special tokens of every vocabulary, as in `text/special_tokens.py`.
PAD = 0
BOS = 1

FALLBACK = (0.5, 1.0, 1.5)
MOST_PAIRS = 10**9  # a few minutes of sorting
_CHUNK = 2**20  # pairs that are sorted at once

Array = np.ndarray


@dataclass(frozen=True)
class TokenStream:
    """Concatenated sequences, with BOS before each.

    Attributes:
        tokens: all tokens, BOS included.
        positions: index in `tokens` of each token of a sequence.
        depths: number of tokens before each of them in its sequence.
    """

    tokens: Array
    positions: Array
    depths: Array

    @property
    def longest(self) -> int:
        """Number of tokens of the longest sequence, EOS included."""
        return int(self.depths.max()) + 1


@dataclass(frozen=True)
class Counts:
    """The words after each of a set of contexts, with their counts.

    Attributes:
        contexts: keys of the contexts, sorted (C,).
        entries: keys of context and next word, sorted (E,).
        counts: count of each entry (E,).
    """

    contexts: Array
    entries: Array
    counts: Array

    def totals(self, size: int) -> Array:
        """Count of each context (C,), in a vocabulary of `size`."""
        return self.per_context(self.counts, size)

    def per_context(self, values: Array, size: int) -> Array:
        """Sums over the entries of each context, (E,) -> (C,)."""
        return np.bincount(self.entries // size, values, minlength=len(self.contexts))


def read_corpus(sequences: Iterable[Array], margin: int, size: int) -> TokenStream:
    """All sequences, with `margin` BOS before each, so that no n-gram joins two of them.

    Raises:
        ValueError: there are no tokens, or a token is not in a vocabulary of `size`.
    """
    arrays = [np.asarray(sequence) for sequence in sequences]
    lengths = np.array([len(array) for array in arrays], dtype=np.int64)
    if not lengths.sum():
        raise ValueError("the training data have no tokens to count; give at least one sequence")
    content = np.concatenate(arrays)
    if content.min() <= BOS or content.max() >= size:
        odd = content[(content <= BOS) | (content >= size)][0]
        raise ValueError(
            f"token {odd} cannot be counted; expected words and EOS, {BOS + 1} to {size - 1}"
        )
    positions = np.arange(len(content)) + np.repeat(margin * np.arange(1, len(arrays) + 1), lengths)
    tokens = np.full(len(content) + margin * len(arrays), BOS, dtype=np.int32)
    tokens[positions] = content
    depths = np.arange(len(content)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return TokenStream(tokens, positions, depths.astype(np.int32))


def count_ngrams(corpus: TokenStream, order: int, size: int) -> list[Counts]:
    """Counts of the words after the last 0, 1, ... `order` words; `order` is at most the margin."""
    following = corpus.tokens[corpus.positions]
    contexts, context = np.zeros(1, np.int64), np.zeros(len(following), np.int64)
    levels = []
    for depth in range(order + 1):
        if depth:
            keys = context * size + corpus.tokens[corpus.positions - depth]
            contexts, context = np.unique(keys, return_inverse=True)
        entries, counts = np.unique(context * size + following, return_counts=True)
        levels.append(Counts(contexts, entries, counts))
    return levels


def count_pairs(corpus: TokenStream, first: Counts, distance: int | None, size: int) -> Counts:
    """Counts of the words after pairs of a newest word and an earlier word at any distance.

    A context is a pair: the newest word as a context of `first`, and the earlier word. A word that
    occurs twice before the newest one makes one pair: a position counts once for each pair.

    Args:
        first: the counts of the first order.
        distance: number of words before the newest one that make pairs; None is all.

    Raises:
        ValueError: there are more than `MOST_PAIRS` pairs.
    """
    reach = np.minimum(corpus.depths - 1, corpus.longest if distance is None else distance)
    n_pairs = int(reach[reach > 0].sum())
    if n_pairs > MOST_PAIRS:
        raise ValueError(
            f"model.skips pairs each token with those before it, which makes {n_pairs:,} pairs, "
            f"expected at most {MOST_PAIRS:,}; set model.skips to a distance, such as 10"
        )
    keys, counts = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for chunk in _by_reach(reach):
        triples = _triples(corpus, first, chunk, reach, size)
        keys, counts = _merged(keys, counts, *np.unique(triples, return_counts=True))
    contexts, context = np.unique(keys // size, return_inverse=True)
    return Counts(contexts, context * size + keys % size, counts)


def _by_reach(reach: Array) -> Iterator[Array]:
    """Indices of positive reaches, in chunks of similar reach and limited size."""
    order = np.argsort(reach, kind="stable")[np.count_nonzero(reach <= 0) :]
    start = len(order)
    while start:
        step = max(1, _CHUNK // int(reach[order[start - 1]]))
        yield order[max(0, start - step) : start]
        start = max(0, start - step)


def _triples(corpus: TokenStream, first: Counts, chunk: Array, reach: Array, size: int) -> Array:
    """A key for each newest word, earlier word and next word at the positions of a chunk."""
    positions = corpus.positions[chunk]
    back = np.arange(reach[chunk].max())
    window = corpus.tokens[np.maximum(positions[:, None] - 2 - back, 0)]
    window[back >= reach[chunk][:, None]] = PAD
    earlier = distinct(torch.from_numpy(window)).numpy()
    newest = np.searchsorted(first.contexts, corpus.tokens[positions - 1])
    row, column = np.nonzero(earlier != PAD)
    pairs = newest[row] * size + earlier[row, column]
    return pairs * size + corpus.tokens[positions[row]]


def _merged(keys: Array, counts: Array, more: Array, more_counts: Array) -> tuple[Array, Array]:
    merged, index = np.unique(np.concatenate([keys, more]), return_inverse=True)
    total = np.bincount(index, np.concatenate([counts, more_counts]), minlength=len(merged))
    return merged, total.astype(np.int64)


def distinct(window: Tensor) -> Tensor:
    """Each word of a row once; repetitions and BOS become PAD, and order is lost.

    Shape: (n, L) -> (n, L).
    """
    ordered = window.sort(dim=1).values
    repeated = torch.zeros_like(ordered, dtype=torch.bool)
    repeated[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    return ordered.masked_fill(repeated | (ordered == BOS), PAD)


def continuations(levels: list[Counts], size: int) -> list[Counts]:
    """The counts for Kneser-Ney smoothing: all but the longest n-grams by their types.

    A shorter n-gram counts once for each different word before it. No word is before an n-gram that
    starts with BOS, which keeps its own count.
    """
    adjusted = []
    for depth, (level, longer) in enumerate(pairwise(levels)):
        shorter = longer.contexts[longer.entries // size] // size
        index = np.searchsorted(level.entries, shorter * size + longer.entries % size)
        types = np.bincount(index, minlength=len(level.entries))
        if depth:
            has_bos = level.contexts[level.entries // size] % size == BOS
            types = np.where(has_bos, level.counts, types)
        adjusted.append(Counts(level.contexts, level.entries, types))
    return [*adjusted, levels[-1]]


def estimate_discounts(counts: Array) -> tuple[float, float, float]:
    """The discounts of counts of 1, 2 and 3 or more (Chen & Goodman 1998, eq. 26).

    With `n_i` the number of n-grams counted i times and `Y = n_1 / (n_1 + 2 n_2)`:
    `D_i = i - (i + 1) Y n_{i+1} / n_i`. If one of n_1 to n_4 is 0 or a discount is not positive
    (few words, as with characters, or regular data), the result is `FALLBACK`.
    """
    n = np.bincount(np.minimum(counts, 5), minlength=6)[1:5].astype(float)
    if not n.all():
        return FALLBACK
    y = n[0] / (n[0] + 2 * n[1])
    d1, d2, d3 = (float(i - (i + 1) * y * n[i] / n[i - 1]) for i in (1, 2, 3))
    return (d1, d2, d3) if min(d1, d2, d3) > 0 else FALLBACK


def information_gain(pairs: Counts, first: Counts, size: int) -> Array:
    """Information of each pair about the next word in bits, beyond the newest word and chance (C,).

    `KL(p(. | x, q) || p(. | q)) - (K - 1) / (2 N ln 2)`, where N is the count of the pair and K the
    number of different words after q. The second term is the expected divergence of N draws from
    `p(. | q)` (Miller 1955), so a rare pair needs a larger divergence than a frequent one.
    """
    pair = pairs.entries // size
    newest = pairs.contexts // size
    index = np.searchsorted(first.entries, newest[pair] * size + pairs.entries % size)
    totals = pairs.totals(size)
    share = pairs.counts / totals[pair]
    usual = first.counts[index] / first.totals(size)[newest[pair]]
    divergence = pairs.per_context(share * np.log2(share / usual), size)
    n_following = first.per_context(np.ones(len(first.entries)), size)[newest]
    return divergence - (n_following - 1) / (2 * totals * np.log(2))

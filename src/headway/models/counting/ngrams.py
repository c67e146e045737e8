"""Counts of n-grams and of skipping pairs, as sorted arrays of integers.

A context has a number: its place in a sorted array of keys, where a key is the number of the
context that is one word shorter times V plus the word put in front of it. What followed a context
is a second sorted array, of keys `context * V + next word`. So a million tokens take some sorting
and no dictionaries. What the counts mean as probabilities is left to `markov.py`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

# The marks every vocabulary begins with, as `text/special_tokens.py` has them.
PAD = 0
BOS = 1

FALLBACK = (0.5, 1.0, 1.5)
MOST_PAIRS = 10**9  # a few minutes of sorting
_CHUNK = 2**20  # pairs that are sorted at once

Array = np.ndarray


@dataclass(frozen=True)
class TokenStream:
    """Sequences end to end, with begin marks before each.

    Attributes:
        tokens: all of them, marks included.
        places: where in `tokens` the tokens of the sequences are.
        depths: how many tokens of its sequence come before each of them.
    """

    tokens: Array
    places: Array
    depths: Array

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence, its end mark counted."""
        return int(self.depths.max()) + 1


@dataclass(frozen=True)
class Counts:
    """What followed each of a set of contexts, and how often.

    Attributes:
        contexts: keys of the contexts, sorted (C,).
        entries: keys of context and next word, sorted (E,).
        counts: how often each entry was seen (E,).
    """

    contexts: Array
    entries: Array
    counts: Array

    def totals(self, size: int) -> Array:
        """How often each context was seen (C,), in a vocabulary of `size`."""
        return self.per_context(self.counts, size)

    def per_context(self, values: Array, size: int) -> Array:
        """Sums over the entries of each context, (E,) -> (C,)."""
        return np.bincount(self.entries // size, values, minlength=len(self.contexts))


def read_corpus(sequences: Iterable[Array], margin: int, size: int) -> TokenStream:
    """All sequences, with `margin` begin marks before each so that no n-gram joins two of them.

    Raises:
        ValueError: there is nothing to count, or a token is not one of a vocabulary of `size`.
    """
    arrays = [np.asarray(sequence) for sequence in sequences]
    lengths = np.array([len(array) for array in arrays], dtype=np.int64)
    if not lengths.sum():
        raise ValueError("the training data have no tokens to count; give at least one sequence")
    content = np.concatenate(arrays)
    if content.min() <= BOS or content.max() >= size:
        odd = content[(content <= BOS) | (content >= size)][0]
        raise ValueError(
            f"token {odd} cannot be counted; expected words and end marks, {BOS + 1} to {size - 1}"
        )
    places = np.arange(len(content)) + np.repeat(margin * np.arange(1, len(arrays) + 1), lengths)
    tokens = np.full(len(content) + margin * len(arrays), BOS, dtype=np.int32)
    tokens[places] = content
    depths = np.arange(len(content)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return TokenStream(tokens, places, depths.astype(np.int32))


def count_ngrams(corpus: TokenStream, order: int, size: int) -> list[Counts]:
    """What followed the last 0, 1, ... `order` words; the corpus has that many begin marks."""
    following = corpus.tokens[corpus.places]
    contexts, context = np.zeros(1, np.int64), np.zeros(len(following), np.int64)
    levels = []
    for depth in range(order + 1):
        if depth:
            keys = context * size + corpus.tokens[corpus.places - depth]
            contexts, context = np.unique(keys, return_inverse=True)
        entries, counts = np.unique(context * size + following, return_counts=True)
        levels.append(Counts(contexts, entries, counts))
    return levels


def count_pairs(corpus: TokenStream, first: Counts, distance: int | None, size: int) -> Counts:
    """What followed each newest word when a given word stood before it, at whatever distance.

    A context is a pair: the newest word as a context of `first`, and the earlier word in front of
    it. A word that stands there twice is one: a place in the corpus counts once for each pair.

    Args:
        first: the counts of the first order.
        distance: how many words before the newest one are looked at; None is all.

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
        found, seen = np.unique(_triples(corpus, first, chunk, reach, size), return_counts=True)
        keys, counts = _merged(keys, counts, found, seen)
    contexts, context = np.unique(keys // size, return_inverse=True)
    return Counts(contexts, context * size + keys % size, counts)


def _by_reach(reach: Array) -> Iterator[Array]:
    """Indices of those with a reach, similar ones together, as many as fit into a chunk."""
    order = np.argsort(reach, kind="stable")[np.count_nonzero(reach <= 0) :]
    start = len(order)
    while start:
        step = max(1, _CHUNK // int(reach[order[start - 1]]))
        yield order[max(0, start - step) : start]
        start = max(0, start - step)


def _triples(corpus: TokenStream, first: Counts, chunk: Array, reach: Array, size: int) -> Array:
    """A key for every newest word, earlier word and next word at the given places."""
    places = corpus.places[chunk]
    back = np.arange(reach[chunk].max())
    window = corpus.tokens[np.maximum(places[:, None] - 2 - back, 0)]
    window[back >= reach[chunk][:, None]] = PAD
    earlier = distinct(torch.from_numpy(window)).numpy()
    newest = np.searchsorted(first.contexts, corpus.tokens[places - 1])
    row, column = np.nonzero(earlier != PAD)
    pairs = newest[row] * size + earlier[row, column]
    return pairs * size + corpus.tokens[places[row]]


def _merged(keys: Array, counts: Array, more: Array, seen: Array) -> tuple[Array, Array]:
    merged, place = np.unique(np.concatenate([keys, more]), return_inverse=True)
    total = np.bincount(place, np.concatenate([counts, seen]), minlength=len(merged))
    return merged, total.astype(np.int64)


def distinct(window: Tensor) -> Tensor:
    """Each word of a row once, the others and the begin marks replaced by PAD; order is lost.

    Shape: (n, L) -> (n, L).
    """
    ordered = window.sort(dim=1).values
    repeated = torch.zeros_like(ordered, dtype=torch.bool)
    repeated[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    return ordered.masked_fill(repeated | (ordered == BOS), PAD)


def continuations(levels: list[Counts], size: int) -> list[Counts]:
    """The counts that Kneser-Ney smoothing takes: all but the longest n-grams by their types.

    A shorter n-gram counts once for each word that was seen in front of it. Nothing stands in front
    of one that begins with the begin mark, which keeps its own count.
    """
    adjusted = []
    for depth, (level, longer) in enumerate(pairwise(levels)):
        shorter = longer.contexts[longer.entries // size] // size
        place = np.searchsorted(level.entries, shorter * size + longer.entries % size)
        types = np.bincount(place, minlength=len(level.entries))
        if depth:
            begins = level.contexts[level.entries // size] % size == BOS
            types = np.where(begins, level.counts, types)
        adjusted.append(Counts(level.contexts, level.entries, types))
    return [*adjusted, levels[-1]]


def estimate_discounts(counts: Array) -> tuple[float, float, float]:
    """What to take from counts of 1, 2 and 3 or more (Chen & Goodman 1998, eq. 26).

    With `n_i` the number of n-grams counted i times and `Y = n_1 / (n_1 + 2 n_2)`:
    `D_i = i - (i + 1) Y n_{i+1} / n_i`. Where one of n_1 to n_4 is 0 or a discount is not positive
    (few words, as with characters, or regular data), `FALLBACK` stands for all three.
    """
    n = np.bincount(np.minimum(counts, 5), minlength=6)[1:5].astype(float)
    if not n.all():
        return FALLBACK
    y = n[0] / (n[0] + 2 * n[1])
    one, two, three = (float(i - (i + 1) * y * n[i] / n[i - 1]) for i in (1, 2, 3))
    return (one, two, three) if min(one, two, three) > 0 else FALLBACK


def information_gain(pairs: Counts, first: Counts, size: int) -> Array:
    """Bits that each pair tells about the next word, beyond the newest word alone and chance (C,).

    `KL(p(. | x, q) || p(. | q)) - (K - 1) / (2 N ln 2)`, where N is how often the pair was seen and
    K how many different words followed q: what N draws from `p(. | q)` would differ from it by, in
    expectation (Miller 1955). So a rare pair has to be clearer than a frequent one.
    """
    pair = pairs.entries // size
    newest = pairs.contexts // size
    place = np.searchsorted(first.entries, newest[pair] * size + pairs.entries % size)
    seen = pairs.totals(size)
    share = pairs.counts / seen[pair]
    usual = first.counts[place] / first.totals(size)[newest[pair]]
    divergence = pairs.per_context(share * np.log2(share / usual), size)
    n_following = first.per_context(np.ones(len(first.entries)), size)[newest]
    return divergence - (n_following - 1) / (2 * seen * np.log(2))

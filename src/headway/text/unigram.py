"""Trains a unigram model (Kudo 2018): many candidate pieces, pruned until few remain.

The trainer of `tokenizers` is not used: its result differs from run to run, and it never proposes a
whole word that is part of no other word. The library's model encodes text afterwards.
"""

import heapq
import math
from collections import Counter
from collections.abc import Mapping, Sequence

_MAX_PIECE = 16
_MAX_WORD = 36  # longer words are cut, to keep products of probabilities within a float
_MAX_WORDS = 50_000  # the most frequent ones; the rest would cost time and add no pieces
_MAX_SYMBOLS = 1_200_000  # of these words; text without spaces has few words with many symbols
_SEEDS_PER_PIECE = 10
_MIN_SEEDS = 10_000
_KEEP = 0.6  # share of the pieces kept in a round
_UNSEEN = 0.1  # count of a piece that is never used

# Multiplies the probability of each piece once per symbol. All segmentations of a word have the
# same number of symbols, so it cancels out; it keeps long words from underflowing.
_PER_SYMBOL = math.exp(5.0)


def train_unigram(
    word_counts: Mapping[str, int], alphabet: Sequence[str], n_pieces: int
) -> list[tuple[str, float]]:
    """At most `n_pieces` pieces with their log probabilities, the likeliest first.

    Every symbol of `alphabet` is among them, so that any word over it can be segmented. Fewer
    pieces are returned only if the words have fewer sub-strings that occur twice.
    """
    words = _parts(sorted(word_counts.items(), key=lambda item: (-item[1], item[0])))
    counts = _seeds(words, alphabet, n_pieces)
    while True:
        counts = _expected_counts(words, counts)
        if len(counts) <= n_pieces:
            break
        counts = _prune(counts, max(n_pieces, int(_KEEP * len(counts))))
    log_probs = {piece: round(value, 6) for piece, value in _log_probs(counts).items()}
    return sorted(log_probs.items(), key=lambda item: (-item[1], item[0]))


def _parts(words: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """The first words with their counts, long ones cut."""
    parts: list[tuple[str, int]] = []
    n_symbols = 0
    for word, count in words[:_MAX_WORDS]:
        for start in range(0, len(word), _MAX_WORD):
            if n_symbols >= _MAX_SYMBOLS:
                return parts
            parts.append((word[start : start + _MAX_WORD], count))
            n_symbols += len(parts[-1][0])
    return parts


def _seeds(
    words: Sequence[tuple[str, int]], alphabet: Sequence[str], n_pieces: int
) -> dict[str, float]:
    """Counts of the alphabet and of the sub-strings that cover most text."""
    counts: Counter[str] = Counter()
    for word, count in words:
        for start in range(len(word)):
            for end in range(start + 1, min(start + _MAX_PIECE, len(word)) + 1):
                counts[word[start:end]] += count
    longer = ((piece, n) for piece, n in counts.items() if len(piece) > 1 and n > 1)
    best = heapq.nlargest(
        max(_MIN_SEEDS, _SEEDS_PER_PIECE * n_pieces),
        longer,
        key=lambda item: (item[1] * len(item[0]), item[0]),
    )
    return {symbol: float(counts[symbol]) for symbol in alphabet} | dict(best)


def _log_probs(counts: Mapping[str, float]) -> dict[str, float]:
    log_total = math.log(sum(max(count, _UNSEEN) for count in counts.values()))
    return {piece: math.log(max(n, _UNSEEN)) - log_total for piece, n in counts.items()}


def _expected_counts(
    words: Sequence[tuple[str, int]], counts: Mapping[str, float]
) -> dict[str, float]:
    """Expected counts of the pieces over all segmentations: a round of EM."""
    weights = {
        piece: math.exp(log_prob) * _PER_SYMBOL ** len(piece)
        for piece, log_prob in _log_probs(counts).items()
    }
    expected = dict.fromkeys(counts, 0.0)
    for word, count in words:
        edges, forward = [], [1.0]
        for end in range(1, len(word) + 1):
            reached = 0.0
            for start in range(max(0, end - _MAX_PIECE), end):
                piece = word[start:end]
                weight = weights.get(piece)
                if weight is not None:
                    edges.append((start, end, piece, weight))
                    reached += forward[start] * weight
            forward.append(reached)
        backward = [0.0] * len(word) + [count / forward[-1]]
        for start, end, piece, weight in reversed(edges):
            onward = weight * backward[end]
            backward[start] += onward
            expected[piece] += forward[start] * onward
    return expected


def _prune(counts: Mapping[str, float], n_kept: int) -> dict[str, float]:
    """Drops the pieces whose loss reduces the likelihood least; symbols always stay."""
    log_probs = _log_probs(counts)
    loss = {
        piece: count * (log_probs[piece] - _best_without(piece, log_probs))
        for piece, count in counts.items()
        if len(piece) > 1
    }
    n_symbols = len(counts) - len(loss)
    best = heapq.nlargest(n_kept - n_symbols, loss, key=lambda piece: (loss[piece], piece))
    kept = {piece for piece in counts if len(piece) == 1}.union(best)
    return {piece: count for piece, count in counts.items() if piece in kept}


def _best_without(piece: str, log_probs: Mapping[str, float]) -> float:
    """The log probability of the best segmentation of `piece` into shorter pieces."""
    best = [0.0]
    for end in range(1, len(piece) + 1):
        best.append(
            max(
                best[start] + log_probs[piece[start:end]]
                for start in range(end)
                if end - start < len(piece) and piece[start:end] in log_probs
            )
        )
    return best[-1]

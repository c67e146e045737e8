"""Learns the pieces of a unigram model (Kudo 2018): many candidates, thinned until few remain.

The library's trainer is not used: its result differs from run to run, and it never proposes a whole
word that is part of no other word. The model that reads text afterwards is the library's.
"""

import heapq
import math
from collections import Counter
from collections.abc import Mapping, Sequence

_MAX_PIECE = 16
_MAX_WORD = 36  # longer ones are cut, to keep products of probabilities inside a float
_MAX_WORDS = 50_000  # the most frequent ones; the rest would cost time and memory, not pieces
_SEEDS_PER_PIECE = 10
_MIN_SEEDS = 10_000
_KEEP = 0.6  # share of the pieces that survives a round
_UNSEEN = 0.1  # the count of what was never used

# Multiplies the probability of each piece once per symbol. All ways to cut a word have the same
# number of symbols, so this cancels; it keeps long words from vanishing in a float.
_PER_SYMBOL = math.exp(5.0)


def learn_unigram(
    word_counts: Mapping[str, int], alphabet: Sequence[str], n_pieces: int
) -> list[tuple[str, float]]:
    """At most `n_pieces` pieces with their log probabilities, the likeliest first.

    Every symbol of `alphabet` is among them, so that any word over it can be cut. Fewer are
    returned only when the words hold fewer sub-strings that occur twice.
    """
    ordered = sorted(word_counts.items(), key=lambda item: (-item[1], item[0]))
    words = [
        (word[start : start + _MAX_WORD], count)
        for word, count in ordered[:_MAX_WORDS]
        for start in range(0, len(word), _MAX_WORD)
    ]
    counts = _seeds(words, alphabet, n_pieces)
    while True:
        counts = _expected_counts(words, counts)
        if len(counts) <= n_pieces:
            break
        counts = _thin(counts, max(n_pieces, int(_KEEP * len(counts))))
    log_probs = {piece: round(value, 6) for piece, value in _log_probs(counts).items()}
    return sorted(log_probs.items(), key=lambda item: (-item[1], item[0]))


def _seeds(
    words: Sequence[tuple[str, int]], alphabet: Sequence[str], n_pieces: int
) -> dict[str, float]:
    """The alphabet and the sub-strings that cover most text, with how often they occur."""
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
    """One round of expectation and maximisation: how often each piece is used, over all cuts."""
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


def _thin(counts: Mapping[str, float], n_kept: int) -> dict[str, float]:
    """Drops the pieces whose absence costs the text the least probability; symbols always stay."""
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
    """The log probability of the best way to write `piece` with shorter ones."""
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

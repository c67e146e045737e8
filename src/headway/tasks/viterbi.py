"""The most likely well-formed sequence of tags (Viterbi 1967)."""

import numpy as np


def best_sequence(log_probs: np.ndarray, may_follow: np.ndarray) -> np.ndarray:
    """The tags with the largest product of probabilities, each allowed after its predecessor.

    Args:
        may_follow: which tag may follow which; the last row is for the first word.

    Shape: log_probs (W, V), may_follow bool (V + 1, V) -> (W,).
    """
    n_words, n_tags = log_probs.shape
    if may_follow.all() or not n_words:
        return log_probs.argmax(axis=1)
    penalty = np.where(may_follow, 0.0, -np.inf)
    score = log_probs[0] + penalty[-1]
    parents = np.zeros((n_words, n_tags), np.int64)
    for word in range(1, n_words):
        scores = score[:, None] + penalty[:-1]  # (V before, V)
        parents[word] = scores.argmax(axis=0)
        score = scores.max(axis=0) + log_probs[word]
    best = np.zeros(n_words, np.int64)
    best[-1] = score.argmax()
    for word in range(n_words - 1, 0, -1):
        best[word - 1] = parents[word, best[word]]
    return best

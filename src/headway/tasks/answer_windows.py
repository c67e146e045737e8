"""Long documents in overlapping windows, each short enough to be encoded with a question.

An answer that one window cuts in two is complete in its neighbour, if it is not longer than their
overlap.
"""

from typing import NamedTuple

import numpy as np


class AnswerWindow(NamedTuple):
    """Tokens of a document, from `start` up to `stop`."""

    start: int
    stop: int

    def contains(self, first: int, last: int) -> bool:
        """Whether the tokens from `first` to `last` are in the window."""
        return self.start <= first and last < self.stop


def document_windows(n_tokens: int, room: int, overlap: float) -> list[AnswerWindow]:
    """The windows of a document, in order; together they cover all of it.

    Args:
        room: tokens that fit into a window, at least 1.
        overlap: the fraction of a window that the next one repeats, below 1; the last window ends
            with the document and may repeat more.
    """
    if n_tokens <= room:
        return [AnswerWindow(0, n_tokens)]
    step = max(1, room - int(room * overlap))
    starts = [*range(0, n_tokens - room, step), n_tokens - room]
    return [AnswerWindow(start, start + room) for start in starts]


def tokens_at(offsets: np.ndarray, start: int, end: int) -> tuple[int, int] | None:
    """The first and the last token that overlap the characters from `start` to `end`.

    Shape: offsets (n, 2), the start and the end of each token, in order.
    """
    first = int(np.searchsorted(offsets[:, 1], start, side="right"))
    last = int(np.searchsorted(offsets[:, 0], end, side="left")) - 1
    return (first, last) if first <= last else None


class SpanCandidate(NamedTuple):
    """A span of tokens, both ends included, and its log probability."""

    first: int
    last: int
    log_prob: float


def best_spans(starts: np.ndarray, ends: np.ndarray, longest: int, n: int) -> list[SpanCandidate]:
    """The most likely spans of a window, best first.

    Args:
        starts, ends: log probability of each token to be the first and the last one (L,).
        longest: the most tokens in a span.
        n: number of spans.
    """
    length = len(starts)
    if not length:
        return []
    width = min(longest, length)
    padded = np.concatenate([ends, np.full(width - 1, -np.inf)])
    scores = starts[:, None] + np.lib.stride_tricks.sliding_window_view(padded, width)  # (L, width)
    flat = scores.ravel()
    chosen = np.argsort(-flat, kind="stable")[:n] if n >= flat.size else _largest(flat, n)
    spans = [(int(i) // width, int(i) % width, float(flat[i])) for i in chosen]
    return [SpanCandidate(a, a + more, value) for a, more, value in spans if value > -np.inf]


def _largest(values: np.ndarray, n: int) -> np.ndarray:
    """The indices of the n largest values, the largest first."""
    indices = np.argpartition(-values, n - 1)[:n]
    return indices[np.lexsort([indices, -values[indices]])]

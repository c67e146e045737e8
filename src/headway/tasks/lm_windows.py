"""Scoring of long texts in overlapping windows, in which every token is scored once.

A model is used at the lengths of its training. A text that fits is one window. A longer text is
split into windows of that length: all of the first is scored; each later window starts half a
window further and scores its new tokens, with the earlier tokens of the window as context.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..data.collate import text_batch
from ..data.store import StoredColumn
from ..parallel import decode_batches
from .base import Batch


@dataclass(frozen=True)
class Window:
    """Tokens `start` to `stop` of a text, given by its index; those from `scored` on are scored."""

    text: int
    start: int
    scored: int
    stop: int

    @property
    def n_tokens(self) -> int:
        """The number of scored tokens."""
        return self.stop - self.scored


def windows_of(lengths: Sequence[int], size: int) -> Iterator[Window]:
    """The windows of texts, in order; `size` is at least 2."""
    for text, length in enumerate(lengths):
        scored = 0
        while scored < length:
            stop = min(scored + (size // 2 if scored else size), length)
            yield Window(text, max(0, stop - size), scored, stop)
            scored = stop


def window_batches(
    texts: Sequence[np.ndarray], windows: Sequence[Window], bos: int
) -> Iterator[tuple[list[int], Batch]]:
    """Batches of windows of similar length, each with the indices of its windows."""
    for rows in decode_batches([w.stop - w.start for w in windows], 1):
        chosen = [windows[i] for i in rows]
        batch = text_batch([texts[w.text][w.start : w.stop] for w in chosen], bos)
        for row, window in enumerate(chosen):
            batch["tgt_valid"][row, : window.scored - window.start] = False
        yield rows, batch


class StoredTexts(Sequence[np.ndarray]):
    """The texts of a store: its examples, joined up to each EOS; mapped, not loaded.

    The last text has no EOS if the store is the beginning of a running text.
    """

    def __init__(self, column: StoredColumn, eos: int) -> None:
        self._column = column
        ends = np.flatnonzero(column.last_values() == eos) + 1
        self._edges = np.unique(np.concatenate([[0], ends, [len(column)]]))

    def __len__(self) -> int:
        return len(self._edges) - 1

    def __getitem__(self, index: int) -> np.ndarray:  # type: ignore[override]
        if not 0 <= index < len(self):
            raise IndexError(f"text {index} of {len(self)}")
        return self._column.joined(int(self._edges[index]), int(self._edges[index + 1]))

    def lengths(self) -> list[int]:
        lengths: list[int] = np.add.reduceat(self._column.lengths(), self._edges[:-1]).tolist()
        return lengths

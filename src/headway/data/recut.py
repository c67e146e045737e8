"""Running texts cut elsewhere in every epoch, so that no token is always the first of its block.

Only the borders move, by a number that (seed, epoch) decides; they are computed from the stored
ones when they are asked for, and the tokens stay where they are mapped.
"""

from collections.abc import Sequence

import numpy as np

from headway.data.batches import BORDER_STREAM
from headway.data.store import Offsets, Store


def recut(
    store: Store, sizes: Sequence[int], is_running: Sequence[bool], seed: int, epoch: int
) -> tuple[Store, tuple[int, ...]]:
    """The store as an epoch sees it, and how many examples each corpus then has.

    The first block of a running text is shortened and all others move up, which may leave some
    tokens for one block more. A text of one block stays whole.

    Args:
        sizes: how many examples each corpus has as stored.
        is_running: which corpora are one running text, in blocks.
    """
    if not any(is_running):
        return store, tuple(sizes)
    [name] = store.columns
    column = store[name]
    rng = np.random.default_rng([seed, epoch, BORDER_STREAM])
    moved = [0] * len(sizes)  # tokens of the shortened first block, where there is one
    counts = list(sizes)
    start = 0
    for corpus, size in enumerate(sizes):
        if is_running[corpus] and size > 1:
            block, last = len(column[start]), len(column[start + size - 1])
            moved[corpus] = int(rng.integers(1, block + 1))
            counts[corpus] += moved[corpus] < last
        start += size
    offsets = _Moved(column.offsets, sizes, counts, moved)
    return store.with_column(name, column.with_offsets(offsets, sum(counts))), tuple(counts)


class _Moved:
    """Where examples start after all blocks but the first of a text were moved.

    Args:
        moved: of each corpus, by how many tokens the second block starts behind where the first one
            did; 0 where everything is as stored.
    """

    def __init__(
        self, stored: Offsets, sizes: Sequence[int], counts: Sequence[int], moved: Sequence[int]
    ) -> None:
        self._stored = stored
        # The end of everything is the start of one corpus more, which is as stored.
        self._stored_starts = np.cumsum([0, *sizes])
        self._starts = np.cumsum([0, *counts])
        self._moved = np.array([*moved, 0])

    def span(self, start: int, stop: int) -> np.ndarray:
        return self.gather(np.arange(start, stop), 1)

    def gather(self, positions: np.ndarray, pieces: int) -> np.ndarray:
        corpus = np.searchsorted(self._starts, positions, side="right") - 1
        place = positions - self._starts[corpus]
        by = np.where(place > 0, self._moved[corpus], 0)
        stored = self._stored_starts[corpus] + place - (by > 0)
        return self._stored.gather(stored, pieces).astype(np.int64) + by

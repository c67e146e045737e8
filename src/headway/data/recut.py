"""Running texts cut elsewhere in every epoch, so that no token is always the first of its block.

Only the borders move, in each text by a number that (seed, epoch) decides; they are computed from
the stored ones when they are asked for, and the tokens stay where they are mapped.
"""

from collections.abc import Sequence

import numpy as np

from headway.data.batches import BORDER_STREAM
from headway.data.store import DOCUMENT, Offsets, Store


def recut(
    store: Store, sizes: Sequence[int], is_running: Sequence[bool], seed: int, epoch: int
) -> tuple[Store, tuple[int, ...]]:
    """The store as an epoch sees it, and how many examples each corpus then has.

    The first block of a text is shortened and all others of it move up, which may leave some tokens
    for one block more. A text of one block stays whole.

    Args:
        sizes: how many examples each corpus has as stored.
        is_running: which corpora are in blocks: of documents, which the store numbers, or else of
            one running text each.
    """
    if not any(is_running):
        return store, tuple(sizes)
    has_documents = DOCUMENT in store.columns
    starts = store.documents if has_documents else np.cumsum([0, *sizes])  # of texts, and the end
    blocks = np.diff(starts)
    is_moved = blocks > 1
    if not has_documents:
        is_moved &= np.array(is_running)
    offsets = store[store.columns[0]].offsets
    firsts, ends = starts[:-1][is_moved], starts[1:][is_moved]
    moved = np.zeros(len(blocks), np.int64)  # tokens of the shortened first block
    rng = np.random.default_rng([seed, epoch, BORDER_STREAM])
    moved[is_moved] = rng.integers(1, _lengths(offsets, firsts) + 1)
    blocks[is_moved] += moved[is_moved] < _lengths(offsets, ends - 1)
    cut = np.concatenate([[0], np.cumsum(blocks)])
    borders = _Moved(offsets, starts, cut, moved)
    # The edges of corpora are edges of texts.
    edges = cut[np.searchsorted(starts, np.cumsum([0, *sizes]))]
    cut_store = store.with_borders(borders, int(cut[-1]), cut if has_documents else None)
    return cut_store, tuple(np.diff(edges).tolist())


def _lengths(offsets: Offsets, examples: np.ndarray) -> np.ndarray:
    start, end = (offsets.gather(places, len(places)) for places in (examples, examples + 1))
    return end.astype(np.int64) - start.astype(np.int64)


class _Moved:
    """Where examples start after all blocks but the first of a text were moved.

    Args:
        stored_starts: the first example of each text as stored, and the end of all.
        starts: the same now.
        moved: of each text, by how many tokens the second block starts behind where the first one
            did; 0 where everything is as stored.
    """

    def __init__(
        self, stored: Offsets, stored_starts: np.ndarray, starts: np.ndarray, moved: np.ndarray
    ) -> None:
        self._stored = stored
        self._stored_starts = stored_starts
        self._starts = starts
        # The end of everything is the start of one text more, which is as stored.
        self._moved = np.append(moved, 0)

    def span(self, start: int, stop: int) -> np.ndarray:
        return self.gather(np.arange(start, stop), 1)

    def gather(self, positions: np.ndarray, pieces: int) -> np.ndarray:
        text = np.searchsorted(self._starts, positions, side="right") - 1
        place = positions - self._starts[text]
        by = np.where(place > 0, self._moved[text], 0)
        stored = self._stored_starts[text] + place - (by > 0)
        return self._stored.gather(stored, pieces).astype(np.int64) + by

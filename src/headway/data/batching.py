"""The order of examples: which ones make a batch, and which batch comes when.

The order is a pure function of (seed, epoch), so a position in an epoch is one integer. Only
lengths are read here, pool by pool; tensors are made by `collate`.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Protocol

import numpy as np

# The streams drawn from (seed, epoch, stream, ...): one for the order of blocks, one per pool, one
# for the borders of running text, one per corrupted example, one per warped series.
BLOCK_STREAM, POOL_STREAM, BORDER_STREAM, DAMAGE_STREAM, WARP_STREAM = 0, 1, 2, 3, 4

# A little padding in the first column saves more in the second; wider steps lose it again.
STEP = 2


class HasLengths(Protocol):
    """The part of a store that `Batches` reads."""

    def __len__(self) -> int: ...

    def lengths(self, column: str, start: int = 0, stop: int | None = None) -> np.ndarray: ...


class Batches:
    """Batches of examples of similar length, in seeded order.

    Blocks of consecutive examples are shuffled and gathered into pools; a pool is shuffled, sorted
    by length and cut into batches, which are shuffled again. A corpus of at most `pool` examples
    is thus shuffled as a whole; a larger one never needs more than a pool in memory.

    Args:
        columns: the columns whose lengths count, the one to sort by first.
        budget: the most tokens of a batch, padding included, in each column. An example longer than
            the budget is a batch of its own.
        sizes: number of examples of each corpus, in the order of the store; one corpus if None.
        weights: passes over each corpus in an epoch; 1 if None. A fraction is a seeded choice of
            examples that differs from epoch to epoch.
        pool: about how many examples are sorted together.
        block: how many consecutive examples stay in one pool.
    """

    def __init__(
        self,
        store: HasLengths,
        columns: Sequence[str],
        budget: int,
        seed: int,
        *,
        sizes: Sequence[int] | None = None,
        weights: Sequence[float] | None = None,
        pool: int = 1 << 16,
        block: int = 256,
    ) -> None:
        self._store = store
        self._columns = tuple(columns)
        self._budget = budget
        self._seed = seed
        self._sizes = (len(store),) if sizes is None else tuple(sizes)
        self._weights = (1.0,) * len(self._sizes) if weights is None else tuple(weights)
        self._pool = pool
        self._block = block
        if sum(self._sizes) != len(store) or len(self._weights) != len(self._sizes):
            raise ValueError(
                f"sizes {self._sizes} and weights {self._weights} do not fit {len(store)} examples"
            )

    def epoch(self, epoch: int) -> Iterator[np.ndarray]:
        """The batches of one epoch, each as the indices of its examples."""
        blocks = self._blocks(epoch)  # (blocks, 3): start, stop, number of examples to draw
        ends = np.cumsum(blocks[:, 2])
        first = number = 0
        while first < len(blocks):
            drawn = ends[first - 1] if first else 0
            last = max(int(np.searchsorted(ends, drawn + self._pool, side="right")), first + 1)
            rng = np.random.default_rng([self._seed, epoch, POOL_STREAM, number])
            yield from self._batches_of(blocks[first:last], rng)
            first, number = last, number + 1

    def from_cursor(self, epoch: int, batch: int) -> Iterator[np.ndarray]:
        """The batches of an epoch from batch number `batch` on."""
        return islice(self.epoch(epoch), batch, None)

    def _blocks(self, epoch: int) -> np.ndarray:
        """All blocks of the epoch in order; those of a corpus of weight 2 occur twice."""
        rng = np.random.default_rng([self._seed, epoch, BLOCK_STREAM])
        rounds = []
        start = 0
        for size, weight in zip(self._sizes, self._weights, strict=True):
            edges = np.append(np.arange(0, size, self._block), size)
            whole, part = divmod(weight, 1.0)
            rounds += [self._round(start, edges, 1.0, rng) for _ in range(int(whole))]
            if part:
                rounds.append(self._round(start, edges, part, rng))
            start += size
        return rng.permutation(np.concatenate(rounds))

    @staticmethod
    def _round(start: int, edges: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
        """The blocks of a corpus, each with its number of examples, in total `share` of all.

        Rounding the running total, from a random phase, makes the numbers add up to the share.
        """
        phase = rng.random() if share < 1.0 else 0.0
        draws = np.diff(np.floor(edges * share + phase).astype(np.int64))
        return np.stack([edges[:-1] + start, edges[1:] + start, draws], axis=1)

    def _batches_of(self, blocks: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
        chosen = [self._draw(start, stop, draw, rng) for start, stop, draw in blocks.tolist()]
        indices = np.concatenate([indices for indices, _ in chosen])
        lengths = np.concatenate([lengths for _, lengths in chosen], axis=1)  # (columns, pool)
        order = rng.permutation(len(indices))  # breaks ties of the sort at random
        order = order[_by_length(lengths[:, order])]
        cuts = _cut(lengths[:, order], self._budget)
        batches = np.split(indices[order], cuts)
        for i in rng.permutation(len(batches)):
            if len(batches[i]):
                yield batches[i]

    def _draw(
        self, start: int, stop: int, draw: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """`draw` examples of a block and their lengths in each column."""
        lengths = np.stack([self._store.lengths(c, start, stop) for c in self._columns])
        if draw == stop - start:
            return np.arange(start, stop), lengths
        picks = np.sort(rng.permutation(stop - start)[:draw])
        return picks + start, lengths[:, picks]


def _by_length(lengths: np.ndarray) -> np.ndarray:
    """The order that puts examples of similar length in every column side by side.

    Sorted by the first column in steps of `STEP`, and within a step by the others, ascending in one
    step and descending in the next: where two steps meet, the other lengths do not jump from
    longest to shortest, so a batch across the border needs less padding.
    """
    first, *others = lengths
    step = first // STEP
    turn = np.where(step % 2 == 0, 1, -1)
    return np.lexsort([first, *(turn * other for other in reversed(others)), step])


def _cut(lengths: np.ndarray, budget: int) -> list[int]:
    """Where to cut the sorted examples so that each piece fits the budget in every column."""
    lengths = np.maximum(lengths, 1)
    count = lengths.shape[1]
    cuts = []
    start = 0
    while start < count:
        most = max(budget // int(lengths[:, start].max()), 1)  # no more rows can fit
        longest = np.maximum.accumulate(lengths[:, start : start + most], axis=1).max(axis=0)
        sizes = longest * np.arange(1, len(longest) + 1)
        start += max(int(np.searchsorted(sizes, budget, side="right")), 1)
        cuts.append(start)
    return cuts[:-1]

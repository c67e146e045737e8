"""How a set of inputs is searched: batches of like length, several at a time, answers in order.

A search is many small operations, which gain little from a second thread; two batches side by side,
one thread each, use two cores. What each batch gives does not depend on the others.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

T = TypeVar("T")

DECODE_TOKENS = 8192
"""Source tokens times beam in one batch: larger ones leave the processor's caches."""


def decode_batches(lengths: Sequence[int], beam: int, parts: int = 1) -> Iterator[list[int]]:
    """Rows of like length, as many as the token budget allows; the longest come first.

    Args:
        parts: how many batches there should be at least, so that every worker has one.
    """
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    largest = max(1, -(-len(order) // parts))
    start = 0
    while start < len(order):
        rows = DECODE_TOKENS // (max(lengths[order[start]], 1) * beam)
        rows = min(max(1, rows), largest)
        yield order[start : start + rows]
        start += rows


def side_by_side(work: Callable[[list[int]], list[T]], batches: Sequence[list[int]]) -> list[T]:
    """The result of each row, in the order of the rows, from the results of each batch of rows."""
    results: dict[int, T] = {}
    for rows, found in zip(batches, _map(work, batches), strict=True):
        results.update(zip(rows, found, strict=True))
    return [results[row] for row in range(len(results))]


def _map(work: Callable[[list[int]], list[T]], batches: Sequence[list[int]]) -> Iterator[list[T]]:
    threads = torch.get_num_threads()
    if threads == 1 or len(batches) == 1:
        yield from map(work, batches)
        return
    torch.set_num_threads(1)  # the matrix library has one setting for all
    try:
        with ThreadPoolExecutor(
            threads, initializer=torch.set_num_threads, initargs=(1,)
        ) as workers:
            yield from workers.map(work, batches)
    finally:
        torch.set_num_threads(threads)

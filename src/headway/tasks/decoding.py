"""How a set of inputs is searched: batches of like length, several at a time, answers in order.

A search is many small operations, which gain little from a second thread; two batches side by side,
one thread each, use two cores. Side by side means in forked processes, as PyTorch's own data
loaders do it: threads would wait for each other between the operations. What each batch gives does
not depend on the others.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, TypeVar

import torch

T = TypeVar("T")
Work = Callable[[list[int]], list[T]]
"""From the rows of a batch to the result of each."""

DECODE_TOKENS = 8192
"""Source tokens times beam in one batch: larger ones leave the processor's caches."""
WORTH = 32
"""Rows for each process from which on it is worth its start."""


def decode_batches(lengths: Sequence[int], beam: int, parts: int = 1) -> Iterator[list[int]]:
    """Rows of like length, as many as the token budget allows; the longest come first.

    Args:
        parts: how many batches there should be at least, so that every process has one.
    """
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    largest = max(1, -(-len(order) // parts))
    start = 0
    while start < len(order):
        rows = DECODE_TOKENS // (max(lengths[order[start]], 1) * beam)
        rows = min(max(1, rows), largest)
        yield order[start : start + rows]
        start += rows


def n_processes(n_rows: int, device: torch.device) -> int:
    """How many processes share the work: one for each thread, if they can and it is worth it."""
    if device.type != "cpu" or not sys.platform.startswith("linux"):
        return 1
    return max(1, min(torch.get_num_threads(), n_rows // WORTH))


def side_by_side(work: Work[T], batches: Sequence[list[int]], processes: int = 1) -> list[T]:
    """The result of each row, in the order of the rows, from the results of each batch of rows.

    This process takes its share of the batches, forked ones take the others.
    """
    shares = [batches[i::processes] for i in range(processes)]
    if processes == 1:
        found = [work(rows) for rows in batches]
    else:
        with _one_thread():
            others = [_Fork(work, share) for share in shares[1:]]
            try:
                found = [work(rows) for rows in shares[0]]
                for other in others:
                    found += other.results()
            finally:
                for other in others:
                    other.end()
    results: dict[int, T] = {}
    for rows, answers in zip([rows for share in shares for rows in share], found, strict=True):
        results.update(zip(rows, answers, strict=True))
    return [results[row] for row in range(len(results))]


class _Fork:
    """A process that works through some batches and sends what it found, or what went wrong."""

    def __init__(self, work: Work[Any], batches: Sequence[list[int]]) -> None:
        context = get_context("fork")  # the work is a closure over a model: nothing is copied
        self._receiver, sender = context.Pipe(duplex=False)
        self._process = context.Process(target=self._run, args=(work, batches, sender), daemon=True)
        with _tokenizers_know():
            self._process.start()
        sender.close()

    @staticmethod
    def _run(work: Work[Any], batches: Sequence[list[int]], sender: Any) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process decides what it means
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        try:
            answer: Any = [work(rows) for rows in batches]
        except Exception as error:
            answer = error
        sender.send(answer)

    def results(self) -> list[list[Any]]:
        try:
            answer = self._receiver.recv()
        except EOFError:
            raise RuntimeError(
                "a process that searched was killed, perhaps for lack of memory; "
                "try fewer threads (--threads 1)"
            ) from None
        if isinstance(answer, Exception):
            raise answer
        found: list[list[Any]] = answer
        return found

    def end(self) -> None:
        self._process.terminate()
        self._process.join()
        self._receiver.close()


@contextmanager
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def _tokenizers_know() -> Iterator[None]:
    """Spares the user the library's warning about forks: it is not parallel in ours."""
    name = "TOKENIZERS_PARALLELISM"
    before = os.environ.get(name)
    os.environ[name] = before or "true"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]

"""How a set of inputs is searched: batches of like length, several at a time, answers in order.

A search is many small operations, which gain little from a second thread; two batches side by side,
one thread each, use two cores. Side by side means in forked processes, as PyTorch's own data
loaders do it: threads would wait for each other between the operations. What each batch gives does
not depend on the others.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from multiprocessing import current_process, get_context
from typing import Any, TypeVar

import torch
from torch import nn

from ..errors import ConfigError, DataError, RunError

T = TypeVar("T")
Work = Callable[[list[int]], list[T]]
"""From the rows of a batch to the result of each."""

DECODE_TOKENS = 8192
"""Source tokens times beam in one batch: larger ones leave the processor's caches."""
WORTH = 32
"""Rows for each process from which on it is worth its start."""
SMALL = 2**27
"""Weights times hypotheses of a step up to which a second thread costs more than it gives."""


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
    can_fork = sys.platform.startswith("linux") and not current_process().daemon
    # Forks of a process in which CTranslate2 had worked did not all come back.
    can_fork = can_fork and "ctranslate2" not in sys.modules
    if device.type != "cpu" or not can_fork:
        return 1
    return max(1, min(torch.get_num_threads(), n_rows // WORTH))


def fitting_threads(model: object, n_hypotheses: int) -> AbstractContextManager[None]:
    """One thread where the steps of a search are small, such as those of a single sentence."""
    weights = model.parameters() if isinstance(model, nn.Module) else ()
    is_small = sum(weight.numel() for weight in weights) * n_hypotheses <= SMALL
    return _one_thread() if is_small else nullcontext()


def side_by_side(work: Work[T], batches: Sequence[list[int]], processes: int = 1) -> list[T]:
    """The result of each row, in the order of the rows, from the results of each batch of rows.

    This process and forked ones take the next batch whenever they are free.

    Raises:
        RunError: a process was killed.
    """
    if processes > 1:
        found = _with_forks(work, batches, processes - 1)
    else:
        found = {i: work(rows) for i, rows in enumerate(batches)}
    results: dict[int, T] = {}
    for i, answers in found.items():
        results.update(zip(batches[i], answers, strict=True))
    return [results[row] for row in range(len(results))]


def _with_forks(work: Work[T], batches: Sequence[list[int]], n_forks: int) -> dict[int, list[T]]:
    """The results by the place of the batch."""
    queue = _Queue(len(batches))
    others: list[_Fork] = []
    with _one_thread():
        try:
            for _ in range(n_forks):
                others.append(_Fork(work, batches, queue))
            found = {i: work(batches[i]) for i in queue}
            for other in others:
                found |= other.results()
        finally:
            queue.close()
            for other in others:
                other.end()
    return found


class _Queue:
    """The numbers below `size`, each handed out once, to whichever process asks first.

    Processes that were forked share the offset of an open file, and reading moves it: there is no
    lock that one of them could die with.
    """

    def __init__(self, size: int) -> None:
        self._file = os.fdopen(os.memfd_create("batches"), "r+b", buffering=0)
        self._file.write(b"".join(i.to_bytes(8) for i in range(size)))
        self._file.seek(0)

    def __iter__(self) -> Iterator[int]:
        while number := self._file.read(8):
            yield int.from_bytes(number)

    def close(self) -> None:
        self._file.close()


class _Fork:
    """A process that works through some batches and sends what it found, or what went wrong."""

    def __init__(self, work: Work[Any], batches: Sequence[list[int]], queue: _Queue) -> None:
        context = get_context("fork")  # the work is a closure over a model: nothing is copied
        self._receiver, sender = context.Pipe(duplex=False)
        arguments = (work, batches, queue, sender, os.getpid())
        self._process = context.Process(target=self._run, args=arguments, daemon=True)
        with _quiet_tokenizers():
            self._process.start()
        sender.close()

    @staticmethod
    def _run(
        work: Work[Any], batches: Sequence[list[int]], queue: _Queue, sender: Any, parent: int
    ) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)  # the first process decides what they mean
        answers: dict[int, list[Any]] = {}
        try:
            for i in queue:
                if os.getppid() != parent:
                    return  # nobody waits any more
                answers[i] = work(batches[i])
        except Exception as error:
            sender.send(_Failure(error))
        else:
            sender.send(answers)

    def results(self) -> dict[int, list[Any]]:
        try:
            answer = self._receiver.recv()
        except (EOFError, OSError):
            raise RunError(
                "a process that searched was killed, perhaps for lack of memory; free some, or "
                "search in one process (OMP_NUM_THREADS=1)"
            ) from None
        if isinstance(answer, _Failure):
            raise answer.error()
        found: dict[int, list[Any]] = answer
        return found

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self._receiver.close()


class _Failure:
    """An exception on its way to another process, which is not sure to survive the way."""

    def __init__(self, error: Exception) -> None:
        self.kind, self.text = type(error).__name__, str(error)
        self.trace = traceback.format_exc()
        # The user's own mistakes keep their kind, and with it their exit code.
        self.known = type(error) if type(error) in (ConfigError, DataError, RunError) else None

    def error(self) -> Exception:
        if self.known is not None:
            return self.known(self.text)
        found = RuntimeError(f"{self.kind}: {self.text}")
        found.add_note(self.trace)
        return found


@contextmanager
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def _quiet_tokenizers() -> Iterator[None]:
    """Spares the user the library's warning about forks: ours decode, which is not parallel."""
    name = "TOKENIZERS_PARALLELISM"
    before = os.environ.get(name)
    os.environ[name] = "false"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before

"""Batches in forked processes, and in this process without fork.

A search is many small operations that gain little from a second thread; two batches in parallel,
one thread each, use two cores. They run in forked processes, as in PyTorch's data loaders: threads
would wait for each other between the operations. A fork shares the memory of the model, so that its
work can be any closure. Without forks (Windows, macOS, a GPU) everything is computed in this
process, with the same results.
"""

import os
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from multiprocessing import current_process, get_all_start_methods, get_context
from typing import IO, Any, TypeVar

import torch
from torch import nn

from .errors import ConfigError, DataError, HeadwayError, RunError

T = TypeVar("T")
Work = Callable[[list[int]], list[T]]
"""A function from the rows of a batch to the result of each row."""

DECODE_TOKENS = 8192
"""Source tokens times beam in one batch; larger batches exceed the processor's caches."""
LARGE_SEARCH = (
    "lower search.beam, search.n_best or search.max_length, shorten the longest inputs, or search "
    "in one process (OMP_NUM_THREADS=1)"
)
"""The remedy if a search runs out of memory."""
LARGE_INPUTS = "shorten the longest inputs, or free some memory"
"""The remedy if another use of a model runs out of memory."""
MIN_ROWS_PER_PROCESS = 32
"""Rows per process below which starting it does not pay."""
SMALL = 2**27
"""Weights times hypotheses of a step up to which a second thread costs more than it gains."""
MANY_FILES = 2**16
"""Upper limit of file descriptors if the system cannot list the open ones."""


def decode_batches(lengths: Sequence[int], beam: int, parts: int = 1) -> Iterator[list[int]]:
    """Batches of rows of similar length within the token budget, the longest rows first.

    Args:
        parts: the smallest number of batches, so that every process has one.
    """
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    largest = max(1, -(-len(order) // parts))
    start = 0
    while start < len(order):
        rows = DECODE_TOKENS // (max(lengths[order[start]], 1) * beam)
        rows = min(max(1, rows), largest)
        yield order[start : start + rows]
        start += rows


def can_fork() -> bool:
    """Whether this process can start forked workers.

    Only Linux: macOS has `fork`, but its libraries crash in the child. Daemonic processes may have
    no children.
    """
    is_linux = sys.platform.startswith("linux") and "fork" in get_all_start_methods()
    return is_linux and not current_process().daemon


def n_cores() -> int:
    """Processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def n_processes(n_rows: int, device: torch.device) -> int:
    """Number of processes for the work: one for each thread, if forks are possible and pay."""
    # Forks of a process that has used CTranslate2 can hang.
    if device.type != "cpu" or not can_fork() or "ctranslate2" in sys.modules:
        return 1
    return max(1, min(torch.get_num_threads(), n_rows // MIN_ROWS_PER_PROCESS))


def single_thread_if_small(model: object, n_hypotheses: int) -> AbstractContextManager[None]:
    """A context with one thread if the steps of a search are small, as for a single sentence."""
    weights = model.parameters() if isinstance(model, nn.Module) else ()
    is_small = sum(weight.numel() for weight in weights) * n_hypotheses <= SMALL
    return _one_thread() if is_small else nullcontext()


def map_batches(work: Work[T], batches: Sequence[list[int]], processes: int = 1) -> list[T]:
    """The result of each row, in the order of the rows, computed batch by batch.

    This process and forked ones take the next batch when they are free.

    Raises:
        RunError: a process was killed.
    """
    if processes > 1:
        by_batch = _with_forks(work, batches, processes - 1)
    else:
        by_batch = {i: work(rows) for i, rows in enumerate(batches)}
    results: dict[int, T] = {}
    for i, answers in by_batch.items():
        results.update(zip(batches[i], answers, strict=True))
    return [results[row] for row in range(len(results))]


def _with_forks(work: Work[T], batches: Sequence[list[int]], n_forks: int) -> dict[int, list[T]]:
    """The results of each batch, by its index."""
    queue, parent = _Queue(len(batches)), os.getpid()

    def work_through(_: None) -> dict[int, list[T]]:
        results = {}
        for i in queue:
            if parent not in (os.getpid(), os.getppid()):
                break  # the parent is dead: nobody waits for the rest
            results[i] = work(batches[i])
        return results

    workers: list[ForkedWorker] = []
    with _one_thread():
        try:
            with suppress(OSError):  # no more processes: the existing ones take all batches
                for _ in range(n_forks):
                    workers.append(ForkedWorker(work_through))
            for worker in workers:
                worker.send(None)
            results = work_through(None)
            for worker in workers:
                results |= _or_raised(worker.receive())
        except WorkerKilled:
            raise RunError(
                "a search process was killed, perhaps for lack of memory; free some memory, or "
                "search in one process (OMP_NUM_THREADS=1)"
            ) from None
        finally:
            queue.close()
            for worker in workers:
                worker.kill()
    return results


def _or_raised(answer: Any) -> Any:
    if isinstance(answer, WorkFailure):
        raise answer.error()
    return answer


class _Queue:
    """The numbers below `size`; each goes to the first process that reads it.

    Forked processes share the offset of an open file, and reading moves it. So there is no lock
    that a killed process could keep.
    """

    def __init__(self, size: int) -> None:
        self._file = _unnamed_file()
        self._file.write(b"".join(i.to_bytes(8, "big") for i in range(size)))
        self._file.seek(0)

    def __iter__(self) -> Iterator[int]:
        while number := self._file.read(8):
            yield int.from_bytes(number, "big")

    def close(self) -> None:
        self._file.close()


def _unnamed_file() -> IO[bytes]:
    """A file in memory, or on disk if the system has none in memory."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("batches"), "r+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


class WorkerKilled(Exception):
    """A forked process ended before its result."""


class WorkFailure:
    """An exception in a form that can be sent to another process, unlike its own class."""

    def __init__(self, error: Exception) -> None:
        self.text = str(error)
        self.summary = f"{type(error).__name__}: {error}"
        self.trace = "".join(traceback.format_exception(error))
        # Errors of the user keep their class, and so their exit code.
        self.known: type[HeadwayError] | None = None
        if isinstance(error, HeadwayError):
            can_travel = type(error) in (ConfigError, DataError, RunError)
            self.known = type(error) if can_travel else HeadwayError

    def error(self) -> Exception:
        """The exception to raise here; an unexpected one has its trace as a note."""
        if self.known is not None:
            return self.known(self.text)
        error = RuntimeError(self.summary)
        error.add_note(self.trace)
        return error


def attempt(work: Callable[[Any], Any], message: Any) -> Any:
    """The result of `work(message)`, or a `WorkFailure`."""
    try:
        return work(message)
    except Exception as error:
        return WorkFailure(error)


class ForkedWorker:
    """A forked process that computes `work(message)` for each message in turn.

    It ends with this process; `send` starts it again after `kill`.

    Args:
        work: any closure: a fork has the memory of this process, and only messages and results are
            copied.
        threads: PyTorch threads of the process.
        closes_files: whether it closes the inherited files and sockets, so that others see them
            closed when this process closes them.

    Raises:
        OSError: no process can be started.
    """

    def __init__(
        self, work: Callable[[Any], Any], threads: int = 1, closes_files: bool = False
    ) -> None:
        self._work, self._n_threads, self._closes_files = work, threads, closes_files
        self._process: Any = None
        self._start()

    def _start(self) -> None:
        context = get_context("fork")
        self._pipe, remote = context.Pipe()
        process = context.Process(target=self._run, args=(remote,), daemon=True)
        try:
            with _quiet_tokenizers():
                process.start()
        except OSError:
            self._pipe.close()
            raise
        finally:
            remote.close()
        self._process = process

    def _run(self, pipe: Any) -> None:
        """The main loop of the forked process."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)  # the parent process handles them
        if self._closes_files:
            _close_all_but(pipe.fileno())
        else:
            self._pipe.close()  # or it would not notice that the parent is gone
        torch.set_num_threads(self._n_threads)
        with suppress(EOFError, OSError):
            while True:
                pipe.send(attempt(self._work, pipe.recv()))

    def send(self, message: Any) -> None:
        """Sends the process a message.

        Raises:
            WorkerKilled: the process is gone.
            OSError: no process can be started.
        """
        if self._process is None:
            self._start()
        try:
            self._pipe.send(message)
        except OSError:
            raise WorkerKilled from None

    def receive(self, seconds: float | None = None) -> Any:
        """The result of the oldest pending message, or a `WorkFailure`.

        Raises:
            WorkerKilled: the process is gone.
            TimeoutError: there is no result within `seconds`.
        """
        try:
            if self._pipe.poll(seconds):
                return self._pipe.recv()
        except (EOFError, OSError):
            raise WorkerKilled from None
        raise TimeoutError

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.is_alive()

    def kill(self) -> None:
        """Kills the process at once."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._process = None


def _close_all_but(descriptor: int) -> None:
    """Closes the files inherited by a fork, except the standard streams and `descriptor`."""
    try:
        numbers = [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:  # a system without /proc
        numbers = list(range(min(os.sysconf("SC_OPEN_MAX"), MANY_FILES)))
    for number in numbers:
        if number > 2 and number != descriptor:
            with suppress(OSError):  # not open, such as that of the listing itself
                os.close(number)


@contextmanager
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


_environment = threading.Lock()


@contextmanager
def _quiet_tokenizers() -> Iterator[None]:
    """Avoids the library's warning about forks: forks of headway use one tokenizer thread."""
    name = "TOKENIZERS_PARALLELISM"
    with _environment:
        before = os.environ.get(name)
        os.environ[name] = "false"
        try:
            yield
        finally:
            if before is None:
                del os.environ[name]
            else:
                os.environ[name] = before

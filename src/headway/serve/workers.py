"""The worker pool: computes batches outside the event loop, which never waits for torch.

On a CPU under Linux the workers are forked processes with one thread each (`parallel.py` says why).
Elsewhere (there is no fork, or the model is on a GPU, which does not survive one) there is one
worker, a thread of this process.
"""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import torch

from ..errors import HeadwayError
from ..parallel import ForkedWorker, WorkerKilled, WorkFailure, attempt, can_fork, n_cores
from .engine import BatchKey, Engine

Engines = Mapping[str, Engine]
"""By the name of the model."""
Batch = tuple[BatchKey, list[Any]]
MOST_WORKERS = 4
"""Processes by default, at most: each has its own working memory."""
TRIES, TRIES_ALONE = 2, 5
"""How often a batch of several texts, and of one text, is computed if the process is killed. Then a
batch is halved, which helps if memory is short; a single text is answered with an error."""


class WorkerError(Exception):
    """An unexpected failure, reported on standard error; clients see only that there was one."""


class WorkerPool(Protocol):
    """Computes batches."""

    workers: int
    """How many batches at a time."""

    async def answer(self, key: BatchKey, items: list[Any]) -> Sequence[bytes]:
        """A JSON object for each item.

        Raises:
            HeadwayError: an item cannot be answered.
            WorkerError: an unexpected failure.
        """

    def close(self) -> None:
        """Ends the workers."""


def make_worker_pool(
    engines: Engines, workers: int | None, threads: int, patience: float
) -> WorkerPool:
    """Forked processes where possible, else one thread.

    Args:
        workers: processes; by default one for each core, at most four.
        threads: of each process.
        patience: seconds after which a batch counts as stuck.
    """
    devices = {parameter.device.type for e in engines.values() for parameter in _tensors(e)}
    if not can_fork() or devices - {"cpu"}:
        return ThreadWorker(engines)
    try:
        return ForkedWorkers(engines, workers or min(n_cores(), MOST_WORKERS), threads, patience)
    except OSError:  # no process can be started
        return ThreadWorker(engines)


def _tensors(engine: Engine) -> list[torch.Tensor]:
    model = engine.trained.model
    return [*model.parameters(), *model.buffers()]


class ThreadWorker:
    """One thread of this process."""

    def __init__(self, engines: Engines) -> None:
        self.workers = 1
        self._engines = engines
        self._thread = ThreadPoolExecutor(1, "engine")

    async def answer(self, key: BatchKey, items: list[Any]) -> Sequence[bytes]:
        loop = asyncio.get_running_loop()
        batch = (key, items)
        return _answers(await loop.run_in_executor(self._thread, self._compute, batch))

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _compute(self, batch: Batch) -> Any:
        return attempt(lambda batch: _compute(self._engines, batch), batch)


class ForkedWorkers:
    """Processes that are forked after the runs have been loaded, and share their weights.

    Raises:
        OSError: no process can be started.
    """

    def __init__(self, engines: Engines, workers: int, threads: int, patience: float) -> None:
        self.workers, self._patience = workers, patience
        # A thread waits for each process, asleep.
        self._threads = ThreadPoolExecutor(workers, "waiting")
        self._all: list[ForkedWorker] = []
        self._is_closed = False
        try:
            for _ in range(workers):
                self._all.append(
                    ForkedWorker(lambda batch: _compute(engines, batch), threads, closes_files=True)
                )
        except OSError:
            self.close()
            raise
        self._idle = list(self._all)

    async def answer(self, key: BatchKey, items: list[Any]) -> Sequence[bytes]:
        worker = self._idle.pop()
        loop = asyncio.get_running_loop()
        try:
            return _answers(
                await loop.run_in_executor(self._threads, self._outcome, worker, (key, items))
            )
        finally:
            self._idle.append(worker)

    def close(self) -> None:
        self._is_closed = True  # batches under way are not computed again
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._all:
            worker.kill()

    def _outcome(self, worker: ForkedWorker, batch: Batch) -> Any:
        """Answers or a `WorkFailure`, waited for; from a new process if one is killed."""
        tries = TRIES if len(batch[1]) > 1 else TRIES_ALONE
        if not worker.is_alive:  # it was killed while it was idle: no fault of this batch
            worker.kill()
        try:
            for _ in range(tries):
                try:
                    worker.send(batch)
                    if self._is_closed:  # it may have been started after the others were killed
                        worker.kill()
                        return WorkerError("the server was stopped")
                    return worker.receive(self._patience)
                except WorkerKilled:
                    if self._is_closed:
                        return WorkerError("the server was stopped")
                    worker.kill()  # whatever is left of it
            reason = f"was killed {tries} times, perhaps for lack of memory"
        except TimeoutError:
            worker.kill()
            reason = f"did not answer for {self._patience:.0f} s"
        except OSError as error:
            reason = f"could not be started ({error.strerror})"
        return WorkerError(f"a process that computed {reason}")


def _compute(engines: Engines, batch: Batch) -> list[bytes]:
    key, items = batch
    return engines[key.model].answer(key, items)


def _answers(outcome: Any) -> Sequence[bytes]:
    """The answers, if there are any.

    Raises:
        HeadwayError: an item cannot be answered.
        WorkerError: an unexpected failure, which is printed.
    """
    if isinstance(outcome, WorkFailure):
        error = outcome.error()
        if isinstance(error, HeadwayError):
            raise error
        print(f"headway: error: {outcome.summary}\n{outcome.trace}".rstrip(), file=sys.stderr)
        raise WorkerError(outcome.summary)
    if isinstance(outcome, WorkerError):
        print(f"headway: error: {outcome}", file=sys.stderr, flush=True)
        raise outcome
    answers: Sequence[bytes] = outcome
    return answers

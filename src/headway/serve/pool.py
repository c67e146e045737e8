"""Where engines compute, so that the event loop never waits for torch.

On a CPU under Linux that is some forked processes with one thread each, as in `tasks/decoding.py`:
a search is many small operations, which gain little from a second thread, and Python threads would
wait for each other and hold up the event loop. Elsewhere (a GPU does not survive a fork) it is one
thread of this process.
"""

import asyncio
import os
import signal
import sys
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any, Protocol

import torch

from ..errors import HeadwayError
from .engine import Ask, Engine

Engines = Mapping[str, Engine]
"""By the name of the model."""
MOST_WORKERS = 4
"""Processes unless told otherwise: each has its own working memory."""


class Failed(Exception):
    """Something went wrong that is nobody's mistake, or ours; it was said on standard error."""


class Place(Protocol):
    """Where batches are computed."""

    workers: int
    """How many batches at a time."""

    async def answer(self, ask: Ask, items: list[Any]) -> Sequence[bytes]:
        """A JSON object for each item.

        Raises:
            HeadwayError: for one of them something cannot be done.
            Failed: it went wrong.
        """

    def close(self) -> None:
        """Ends what was started."""


def make_place(engines: Engines, workers: int | None, threads: int, patience: float) -> Place:
    """Processes where they can be forked, else a thread.

    Args:
        workers: processes; by default one for each core, at most four.
        threads: of each worker.
        patience: seconds after which a batch counts as stuck.
    """
    devices = {parameter.device.type for e in engines.values() for parameter in _tensors(e)}
    if not sys.platform.startswith("linux") or devices - {"cpu"}:
        return InThread(engines)
    n_cores = len(os.sched_getaffinity(0))
    return InForks(engines, workers or min(n_cores, MOST_WORKERS), threads, patience)


def _tensors(engine: Engine) -> list[torch.Tensor]:
    model = engine.trained.model
    return [*model.parameters(), *model.buffers()]


class InThread:
    """One thread of this process."""

    def __init__(self, engines: Engines) -> None:
        self.workers = 1
        self._engines = engines
        self._thread = ThreadPoolExecutor(1, "engine")

    async def answer(self, ask: Ask, items: list[Any]) -> Sequence[bytes]:
        loop = asyncio.get_running_loop()
        return _unpacked(
            await loop.run_in_executor(self._thread, _packed, self._engines, ask, items)
        )

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


class InForks:
    """Processes that were forked after the runs had been loaded: they share the weights."""

    def __init__(self, engines: Engines, workers: int, threads: int, patience: float) -> None:
        self.workers = workers
        # Each fork is waited for by a thread, which sleeps meanwhile.
        self._threads = ThreadPoolExecutor(workers, "waiting")
        self._idle: list[_Fork] = []
        for _ in range(workers):
            self._idle.append(_Fork(engines, threads, patience))

    async def answer(self, ask: Ask, items: list[Any]) -> Sequence[bytes]:
        fork = self._idle.pop()
        loop = asyncio.get_running_loop()
        try:
            return _unpacked(await loop.run_in_executor(self._threads, fork.ask, (ask, items)))
        finally:
            self._idle.append(fork)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for fork in self._idle:
            fork.end()


class _Fork:
    """A process that answers one batch at a time; a new one takes its place if it is killed."""

    def __init__(self, engines: Engines, threads: int, patience: float) -> None:
        self._engines, self._n_threads, self._patience = engines, threads, patience
        self._start()

    def _start(self) -> None:
        context = get_context("fork")
        self._here, there = context.Pipe()
        arguments = (self._engines, self._n_threads, there)
        self._process = context.Process(target=_compute, args=arguments, daemon=True)
        self._process.start()
        there.close()

    def ask(self, what: tuple[Ask, list[Any]]) -> Any:
        """The answer, waited for; from a new process if the old one was killed."""
        reason = "was killed twice, perhaps for lack of memory"
        for _ in range(2):
            try:
                self._here.send(what)
                if self._here.poll(self._patience):
                    return self._here.recv()
            except (EOFError, OSError):
                self._renew()
            else:
                self._renew()
                reason = f"did not answer for {self._patience:.0f} s"
                break
        return Failed, f"a process that computed {reason}", ""

    def _renew(self) -> None:
        self.end()
        self._start()

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self._here.close()


def _compute(engines: Engines, threads: int, pipe: Any) -> None:
    """The whole life of a fork: it ends when nobody can ask any more."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the first process decides what they mean
    _close_others(pipe.fileno())
    torch.set_num_threads(threads)
    while True:
        try:
            ask, items = pipe.recv()
            pipe.send(_packed(engines, ask, items))
        except (EOFError, OSError):
            return


def _close_others(own: int) -> None:
    """Lets go of the sockets and pipes that came with the fork, which others wait to see closed."""
    for name in os.listdir("/proc/self/fd"):
        if (number := int(name)) > 2 and number != own:
            try:
                os.close(number)
            except OSError:  # the one that listed them
                continue


Packed = tuple[type[Exception] | None, Any, str]
"""What went wrong, if something did, with its message and trace; else the answers."""


def _packed(engines: Engines, ask: Ask, items: list[Any]) -> Packed:
    """The answers, or what can be sent of an exception."""
    try:
        return None, engines[ask.model].answer(ask, items), ""
    except HeadwayError as error:
        return HeadwayError, str(error), ""
    except Exception as error:
        return Failed, f"{type(error).__name__}: {error}", traceback.format_exc()


def _unpacked(packed: Packed) -> Sequence[bytes]:
    kind, value, trace = packed
    if kind is None:
        answers: Sequence[bytes] = value
        return answers
    if kind is Failed:
        print(f"headway: error: {value}\n{trace}".rstrip(), file=sys.stderr, flush=True)
    raise kind(value)

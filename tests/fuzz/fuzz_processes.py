"""Runs inputs in forked processes with limits of memory and time, and collects the failures.

Each input is made from its kind, a seed and its number alone, so that one can be repeated without
the others: `tests/fuzz/repeat_input.py`.
"""

import multiprocessing
import resource
import shutil
import signal
import sys
import time
import traceback
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Any

from fuzz_kinds import Files, Kind

from headway.errors import ConfigError, HeadwayError

MEMORY_BYTES = 4 << 30
SECONDS = 10
"""Of work, as the processor counts it: a test may not depend on what else the machine does."""
WAITING = 300
"""Seconds after which an input counts as waiting for something, such as a named pipe."""
PATIENCE = 400
"""Seconds after which a process is killed that does not hear the alarm."""
LONGEST_LINE = 2000
MOST_LINES = 30
FRESH = 400
"""Inputs after which a process ends and another begins, so that caches do not grow."""


class TooSlow(BaseException):
    """An input took too long; no `except Exception` holds it up."""


@dataclass(frozen=True)
class Failure:
    """An outcome that no input may have.

    Attributes:
        cause: equal for failures with the same cause: the type of the exception and its place.
    """

    kind: str
    seed: int
    number: int
    cause: str
    details: str

    def __str__(self) -> str:
        command = f"python tests/fuzz/repeat_input.py {self.kind} {self.seed} {self.number}"
        return f"{self.cause}: {self.details[:300]}\n    {command}"


@dataclass
class Outcomes:
    """What became of the inputs of one kind.

    Attributes:
        memory: the largest memory of a process, in bytes.
    """

    kind: str
    seed: int
    n_inputs: int = 0
    n_read: int = 0
    n_refused: int = 0
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0
    slowest: float = 0.0
    memory: int = 0

    def report(self) -> list[str]:
        """A summary, and one failure of each cause."""
        by_cause: dict[str, list[Failure]] = {}
        for failure in self.failures:
            by_cause.setdefault(failure.cause, []).append(failure)
        lines = [
            f"{self.kind}, seed {self.seed}: {self.n_inputs} inputs, {self.n_read} read, "
            f"{self.n_refused} refused, {len(self.failures)} failures; {self.seconds:.0f} s, "
            f"slowest {self.slowest:.1f} s, largest memory {self.memory >> 20} MiB"
        ]
        for failures in sorted(by_cause.values(), key=len, reverse=True):
            lines.append(f"  {len(failures)} x {failures[0]}")
        return lines


def fuzz(kind: Kind, seed: int, n_inputs: int, workers: int) -> Outcomes:
    """Runs the inputs 0 to `n_inputs` of a prepared kind in forked processes."""
    outcomes = Outcomes(kind.name, seed)
    started = time.monotonic()
    waiting = [range(at, min(at + FRESH, n_inputs)) for at in range(0, n_inputs, FRESH)][::-1]
    running: list[_Worker] = []
    while waiting or running:
        while waiting and len(running) < workers:
            running.append(_Worker(kind, seed, waiting.pop()))
        multiprocessing.connection.wait([worker.reports for worker in running], timeout=0.5)
        for worker in list(running):
            worker.collect(outcomes)
            if worker.is_over:
                running.remove(worker)
                if worker.numbers:
                    waiting.append(worker.numbers)
    outcomes.seconds = time.monotonic() - started
    return outcomes


class _Worker:
    """A forked process that runs inputs one after the other.

    Attributes:
        numbers: those of the inputs that it has not finished.
    """

    def __init__(self, kind: Kind, seed: int, numbers: range) -> None:
        self.kind, self.seed, self.numbers = kind.name, seed, numbers
        self.is_over = False
        context = multiprocessing.get_context("fork")
        self.reports, sender = context.Pipe(duplex=False)
        self._process = context.Process(target=_work, args=(kind, seed, numbers, sender))
        self._process.start()
        sender.close()
        self._last_report = time.monotonic()

    def collect(self, outcomes: Outcomes) -> None:
        """Adds what the process has reported since the last time."""
        try:
            while self.reports.poll():
                self._count(outcomes, *self.reports.recv())
        except EOFError:
            self._process.join()
            self.is_over = True
            if self.numbers:  # it ended in the middle of an input
                self._give_up(outcomes, f"the process ended with {self._process.exitcode}")
            return
        if time.monotonic() - self._last_report > PATIENCE:
            self._process.kill()
            self._process.join()
            self.is_over = True
            self._give_up(outcomes, f"no end after {PATIENCE} s, and no alarm heard")

    def _count(self, outcomes: Outcomes, outcome: Any, seconds: float, memory: int) -> None:
        self._last_report = time.monotonic()
        self.numbers = self.numbers[1:]
        outcomes.n_inputs += 1
        outcomes.slowest = max(outcomes.slowest, seconds)
        outcomes.memory = max(outcomes.memory, memory)
        if isinstance(outcome, Failure):
            outcomes.failures.append(outcome)
        elif outcome == "read":
            outcomes.n_read += 1
        else:
            outcomes.n_refused += 1

    def _give_up(self, outcomes: Outcomes, cause: str) -> None:
        failure = Failure(self.kind, self.seed, self.numbers[0], cause, "")
        self._count(outcomes, failure, SECONDS, 0)


def _work(kind: Kind, seed: int, numbers: range, sender: Any) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, most))
    with _scratch() as folder:
        kind.start()
        for number in numbers:
            started = time.process_time()
            outcome = outcome_of(kind, seed, number, folder)
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
            sender.send((outcome, time.process_time() - started, memory))
    sender.close()
    sys.stdout.flush()


@contextmanager
def _scratch() -> Iterator[Path]:
    in_memory = Path("/dev/shm")  # if there is one: writing through to a disk takes time
    folder = Path(mkdtemp(prefix="fuzz-", dir=in_memory if in_memory.is_dir() else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def input_of(kind: Kind, seed: int, number: int) -> Files:
    """The files of one input."""
    return kind.make(Random(f"{kind.name} {seed} {number}"))


def outcome_of(kind: Kind, seed: int, number: int, scratch: Path) -> str | Failure:
    """Whether an input was "read" or "refused", or how it failed."""
    files = input_of(kind, seed, number)
    folder = scratch / str(number)
    write(files, folder)
    try:
        with _alarm():
            kind.read(files, folder)
    except HeadwayError as error:
        problem = wrong_message(error)
        return Failure(kind.name, seed, number, problem, str(error)) if problem else "refused"
    except (Exception, TooSlow) as error:
        return Failure(kind.name, seed, number, _cause(error), str(error))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return "read"


def write(files: Files, folder: Path) -> None:
    """Writes the files of an input."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


@contextmanager
def _alarm() -> Iterator[None]:
    def ring(*_: Any) -> None:
        raise TooSlow(f"no end after {SECONDS} s of work, or {WAITING} s of waiting")

    timers = {signal.ITIMER_PROF: SECONDS, signal.ITIMER_REAL: WAITING}
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, ring)
    for timer, seconds in timers.items():
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for timer in timers:
            signal.setitimer(timer, 0)


def wrong_message(error: HeadwayError) -> str | None:
    """What is wrong with the message of a refusal; None if nothing is.

    A message is one line; only that of a run file has a line for each problem.
    """
    lines = str(error).split("\n")
    if len(lines) > (MOST_LINES if isinstance(error, ConfigError) else 1):
        return f"a message of {len(lines)} lines from {_place(error)}"
    if max(map(len, lines)) > LONGEST_LINE:
        return f"a message of more than {LONGEST_LINE} characters from {_place(error)}"
    if any(unicodedata.category(character) == "Cc" for line in lines for character in line):
        return f"a message with control characters from {_place(error)}"
    if not lines[0].strip() or "Traceback" in lines[0]:
        return f"a message without content from {_place(error)}"
    return None


def _cause(error: BaseException) -> str:
    return f"{type(error).__name__} from {_place(error)}"


def _place(error: BaseException) -> str:
    """The last line of headway that an exception passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "headway/" in frame.filename]
    frame = (ours or frames)[-1]
    return f"{frame.filename.rpartition('headway/')[2]}:{frame.lineno}"

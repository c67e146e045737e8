"""SIGINT and SIGTERM during training: noted between updates, heard at once in a validation."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import HeadwayError


class Interrupted(HeadwayError):
    """A signal stopped the run after saving; the exit code is that of shells, 128 + signal."""

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.exit_code = 128 + number


class StoppedBySignal(BaseException):
    """Ends work that a signal may end at any point."""


class StopSignals:
    """The first signal; the second one has its usual effect.

    Attributes:
        number: the signal; None before it arrives.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self._ends_work = False

    def catch(self, number: int) -> None:
        """Receives a signal."""
        self.number = number
        if self._ends_work:
            raise StoppedBySignal

    @contextmanager
    def ending_work(self) -> Iterator[None]:
        """A context that a signal ends with StoppedBySignal, also one that has arrived before."""
        try:
            self._ends_work = True
            if self.number is not None:
                raise StoppedBySignal
            yield
        finally:
            self._ends_work = False


@contextmanager
def catch_signals() -> Iterator[StopSignals]:
    """Catches SIGINT and SIGTERM; none outside the main thread, which owns the signals."""
    caught = StopSignals()
    before: dict[int, Any] = {}

    def catch(number: int, frame: object) -> None:
        signal.signal(number, before[number])
        caught.catch(number)

    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, catch)
    except ValueError:  # not the main thread
        yield caught
        return
    try:
        yield caught
    finally:
        for caught_number, handler in before.items():
            signal.signal(caught_number, handler)

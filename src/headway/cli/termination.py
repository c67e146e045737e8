"""SIGTERM as an exception, so that temporary files are removed and worker processes end."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class Terminated(BaseException):
    """SIGTERM, as KeyboardInterrupt is SIGINT."""


@contextmanager
def raising_terminated() -> Iterator[None]:
    """A context in which SIGTERM raises Terminated; a second one ends the process at once."""

    def stop(number: int, frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise Terminated

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not the main thread, which owns the signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

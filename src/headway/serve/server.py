"""The server process: its socket, its signals, its shutdown.

On SIGTERM or SIGINT the server accepts nothing new, finishes the requests it has and exits with 0;
a second SIGINT does not wait. A client that never finishes the header of a request is disconnected.
uvicorn is an extra and imported where it is used.
"""

import signal
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from ..errors import ConfigError, MissingExtra
from .http_protocol import make_protocol
from .middleware import App

SLACK = 5  # seconds beyond the time limit of a request until open connections are closed


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 is any free one.

    Raises:
        ConfigError: the address cannot be used.
    """
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = addresses[0]
        return socket.create_server((str(address[0]), port), family=family, backlog=1024)
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"{host} port {port} cannot be listened on ({reason}); choose another `port` (0 is any "
            "free one) or `host`"
        ) from None


def address_of(listener: socket.socket) -> str:
    """The URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class HeaderTimeout:
    """Finds connections that take too long to send the header of a request.

    uvicorn closes connections that are idle between requests, but not those that send a header one
    byte at a time.

    Args:
        seconds: the time limit for a header.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since: dict[Any, tuple[Any, float]] = {}  # by connection: last request, start time

    def expired(self, connections: Iterable[Any], now: float) -> list[Any]:
        """The connections beyond the limit. Call it at regular intervals."""
        since = {}
        for connection in connections:
            cycle = connection.cycle  # the newest request with a complete header
            if cycle is None or cycle.response_complete:
                last, began = self._since.get(connection, (cycle, now))
                since[connection] = (cycle, began if last is cycle else now)
        self._since = since
        return [c for c, (_, began) in since.items() if now - began > self._seconds]


def run(app: App, listener: socket.socket, seconds: float, stop: Callable[[], None]) -> bool:
    """Serves until a signal arrives.

    Args:
        seconds: time limit of a request, and of sending its header.
        stop: called when no more requests should be accepted.

    Returns:
        Whether all requests were finished.
    """
    import uvicorn

    header_timeout = HeaderTimeout(seconds)

    class Server(uvicorn.Server):
        async def on_tick(self, counter: int) -> bool:
            for connection in header_timeout.expired(
                self.server_state.connections, time.monotonic()
            ):
                connection.transport.close()
            return await super().on_tick(counter)

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Replaces the library's handling, which raises the signal again at the end."""

            def handle(number: int, frame: Any) -> None:
                stop()
                self.handle_exit(number, frame)

            numbers = (signal.SIGINT, signal.SIGTERM)
            before = {number: signal.signal(number, handle) for number in numbers}
            try:
                yield
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)

    config = uvicorn.Config(
        app,
        http=make_protocol(),
        ws="none",
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=round(seconds) + SLACK,
    )
    server = Server(config)
    server.run(sockets=[listener])
    return not server.force_exit


PACKAGES = {"fastapi": "fastapi", "uvicorn": "uvicorn", "prometheus_client": "prometheus-client"}
"""Packages of the extra by module name."""


def require_extras() -> None:
    """Imports the packages of the extra `serve`.

    Raises:
        MissingExtra: one is not installed.
    """
    for module, package in PACKAGES.items():
        try:
            import_module(module)
        except ModuleNotFoundError:
            raise MissingExtra("headway serve", package, "serve") from None

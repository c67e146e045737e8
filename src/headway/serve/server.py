"""The server process: its socket, its signals, its shutdown.

On SIGTERM or SIGINT the server accepts nothing new, finishes the requests it has and exits with 0;
a second SIGINT does not wait. A client that does not finish its header, or does not read its
response, is disconnected. uvicorn is an extra and imported where it is used.
"""

import asyncio
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn

from ..errors import ConfigError, MissingExtra
from .http_protocol import make_protocol
from .middleware import App

SLACK = 5
"""Seconds of a stop: for clients that neither send nor read, and beyond the limit of requests."""
TICK = 0.1  # seconds
BACKLOG = 1024
"""Connections that the system accepts before the server does."""
MOST_CONNECTIONS = 4096
RESERVED_FILES = 64
"""Open files that are not connections: pipes of workers, run directories."""


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 is any free one.

    Raises:
        ConfigError: the address cannot be used.
    """
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = addresses[0]
        return socket.create_server((str(address[0]), port), family=family, backlog=BACKLOG)
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


def most_connections() -> int:
    """The most open connections: the system limits open files (`ulimit -n`)."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return MOST_CONNECTIONS
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return min(MOST_CONNECTIONS, max(limit - RESERVED_FILES, limit // 2))


class StalledConnections:
    """Finds connections whose client takes too long to send a header or to read a response.

    uvicorn closes connections that are idle between requests, but not those that send a header one
    byte at a time, and not those that do not read.

    Args:
        seconds: the time limit for a header, and for reading any part of a response.
        is_stopping: whether bodies are waited for only as long; else the application does it.
    """

    def __init__(self, seconds: float, is_stopping: bool = False) -> None:
        self._seconds, self._is_stopping = seconds, is_stopping
        self._since: dict[Any, tuple[Any, float]] = {}  # by connection: its state, start time

    def expired(self, connections: Iterable[Any], now: float) -> list[Any]:
        """The connections beyond the limit. Call it at regular intervals."""
        since = {}
        for connection in connections:
            cycle = connection.cycle  # the newest request with a complete header
            n_unsent = connection.transport.get_write_buffer_size()
            is_body_missing = self._is_stopping and not connection.is_idle and cycle.more_body
            if connection.is_idle or n_unsent or is_body_missing:
                state = (cycle, connection.is_idle, n_unsent)
                last, began = self._since.get(connection, (state, now))
                since[connection] = (state, began if last == state else now)
        self._since = since
        return [c for c, (_, began) in since.items() if now - began > self._seconds]

    def abort(self, connections: Iterable[Any]) -> None:
        """Closes connections beyond the limit; their responses are dropped."""
        for connection in self.expired(connections, time.monotonic()):
            connection.transport.abort()


def run(
    app: App,
    listener: socket.socket,
    seconds: float,
    ready: Callable[[], None],
    stop: Callable[[], None],
) -> bool:
    """Serves until a signal arrives.

    Args:
        seconds: time limit of a request, and of sending its header.
        ready: called when requests are accepted and signals are handled.
        stop: called when no more requests should be accepted.

    Returns:
        Whether all requests were finished.
    """
    import uvicorn

    stalled = StalledConnections(seconds)

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            asyncio.get_running_loop().set_exception_handler(_report)
            await super().startup(sockets)
            listener.listen(BACKLOG)  # instead of `Config.backlog`
            ready()

        async def on_tick(self, counter: int) -> bool:
            stalled.abort(self.server_state.connections)
            return await super().on_tick(counter)

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            if n_open := len(self.server_state.tasks):
                print(f"headway: stopping; open requests: {n_open}", file=sys.stderr, flush=True)
            closing = asyncio.create_task(self._close_stalled())
            try:
                await super().shutdown(sockets)
            finally:
                closing.cancel()

        async def _close_stalled(self) -> NoReturn:
            stalled = StalledConnections(SLACK, is_stopping=True)
            while True:
                stalled.abort(self.server_state.connections)
                await asyncio.sleep(TICK)

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
        http=make_protocol(most_connections()),
        ws="none",
        log_config=None,
        log_level="error",  # nothing that a client can cause at will
        access_log=False,
        lifespan="off",
        server_header=False,
        backlog=1,  # connections to accept at a time: their number is checked after each
        timeout_graceful_shutdown=round(seconds) + SLACK,
    )
    server = Server(config)
    server.run(sockets=[listener])
    return not server.force_exit


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Reports what nobody caught; errors of the system, such as too many open files, in a line."""
    error = context.get("exception")
    if isinstance(error, OSError):
        print(f"headway: error: {context['message']}: {error}", file=sys.stderr, flush=True)
    else:
        loop.default_exception_handler(context)


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

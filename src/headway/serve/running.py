"""The server process: its socket, its signals, its end.

SIGTERM and SIGINT: nothing new is accepted, what is under way is finished, and the process leaves
with 0; a second SIGINT does not wait. Clients that begin a request and never end its head are cut
off. uvicorn is an extra and imported where it is used.
"""

import signal
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import ConfigError
from .gate import App

SLACK = 5  # seconds more than a request may take, until open connections are cut


def listen(host: str, port: int) -> socket.socket:
    """A socket that waits for clients; port 0 is any free one.

    Raises:
        ConfigError: the address cannot be used.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        return socket.create_server((str(address[0]), port), family=family, backlog=1024)
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"{host} port {port} cannot be listened on ({reason}); choose another --port (0 is any "
            "free one) or --host"
        ) from None


def address_of(listener: socket.socket) -> str:
    """Where a client finds it."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Patience:
    """How long connections have been without a whole head of a request.

    What is quiet between two requests is closed by uvicorn; what sends its head a byte at a time is
    not.

    Args:
        seconds: a head may take so long.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since: dict[Any, tuple[Any, float]] = {}  # by connection: last request, from when on

    def ended(self, connections: Iterable[Any], now: float) -> list[Any]:
        """Those that have taken longer; to be asked again and again."""
        since = {}
        for connection in connections:
            cycle = connection.cycle  # the newest request whose head has come
            if cycle is None or cycle.response_complete:
                last, began = self._since.get(connection, (cycle, now))
                since[connection] = (cycle, began if last is cycle else now)
        self._since = since
        return [one for one, (_, began) in since.items() if now - began > self._seconds]


def run(app: App, listener: socket.socket, seconds: float, stop: Callable[[], None]) -> bool:
    """Serves until a signal comes.

    Args:
        seconds: a request takes no longer, and neither does it to send its head.
        stop: called when no more requests should be taken.

    Returns:
        Whether all that was under way was finished.
    """
    import uvicorn

    patience = Patience(seconds)

    class Server(uvicorn.Server):
        async def on_tick(self, counter: int) -> bool:
            for connection in patience.ended(self.server_state.connections, time.monotonic()):
                connection.transport.close()
            return await super().on_tick(counter)

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Without the library's own end, which dies of the signal again."""

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
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=round(seconds) + SLACK,
    )
    server = Server(config)
    server.run(sockets=[listener])
    return not server.force_exit

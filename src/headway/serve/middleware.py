"""ASGI middleware: host and token checks, size and time limits, JSON errors for all exceptions.

Plain ASGI, because it has to see bodies before they are held in memory.
"""

import asyncio
import hmac
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from .allowed_hosts import AllowedHosts
from .batcher import Draining, JobDropped
from .errors import ProblemError, problem_of
from .limits import Limits
from .metrics import Metrics
from .service import Receive

Send = Callable[[Any], Awaitable[None]]
App = Callable[[Any, Receive, Send], Awaitable[None]]

PUBLIC_PATHS = ("/", "/health")
"""Paths that need no token: the page is the same for everybody and holds nothing of the runs."""
GONE = 499  # the usual status for a client that closed the connection
OVERRUN = 16
"""A refused body is read and discarded up to this many times the limit: a client that reads only
after sending can then read the error."""
OVERRUN_SECONDS = 3.0


class GuardMiddleware:
    """Guards `app`: checks tokens and bodies, counts requests, answers uncaught exceptions.

    Args:
        token: the token that `Authorization: Bearer ...` must carry, if any.
        paths: paths that metrics count by name.
        hosts: the values of `Host` that are served; None serves all.
        is_stopping: whether the server accepts no further requests; connections are then closed.
    """

    def __init__(
        self,
        app: App,
        limits: Limits,
        token: str | None,
        metrics: Metrics,
        paths: Sequence[str],
        hosts: AllowedHosts | None = None,
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._app, self._limits, self._metrics = app, limits, metrics
        self._hosts, self._is_stopping = hosts, is_stopping
        self._token = None if token is None else token.encode()
        self._paths = frozenset(paths)
        self._n_open = 0

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        response = _ResponseMonitor(send, self._is_stopping)
        began = time.perf_counter()
        self._n_open += 1
        try:
            await self._forward(scope, receive, response)
        except JobDropped:
            response.status = GONE
        except asyncio.CancelledError:  # the time of a stop is over
            await response.send_problem(problem_of(Draining(), self._limits.seconds))
        except Exception as error:
            problem = problem_of(error, self._limits.seconds)
            if problem.code == "failed":
                traceback.print_exception(error, file=sys.stderr)
            await response.send_problem(problem)
        finally:
            self._n_open -= 1
            path = scope["path"] if scope["path"] in self._paths else "other"
            self._metrics.request(path, response.status, time.perf_counter() - began)

    async def _forward(self, scope: Any, receive: Receive, response: "_ResponseMonitor") -> None:
        headers = {name.lower(): value for name, value in scope["headers"]}
        _check_framing(scope["http_version"], headers)
        if self._hosts is not None:
            self._hosts.check([value for name, value in scope["headers"] if name == b"host"])
        if scope["path"] not in PUBLIC_PATHS:
            self._check_token(headers.get(b"authorization", b""))
        if scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self._app(scope, receive, response)
            return
        if self._n_open > self._limits.queue:
            message = "too many open requests; try again in 1 s"
            raise ProblemError("busy", message, retry_after=1)
        body = await self._body(receive, headers)
        await self._app(scope, _replayed(body, receive), response)

    def _check_token(self, header: bytes) -> None:
        if self._token is None:
            return
        scheme, _, token = header.partition(b" ")
        # In constant time, so that timing reveals nothing.
        if scheme.lower() != b"bearer" or not hmac.compare_digest(token.strip(), self._token):
            message = "a token is required; send it as Authorization: Bearer TOKEN"
            raise ProblemError("unauthorized", message)

    async def _body(self, receive: Receive, headers: Mapping[bytes, bytes]) -> bytes:
        """The whole body, if it is small enough and arrives in time."""
        most = self._limits.body
        announced = headers.get(b"content-length", b"")
        is_large = announced.isdigit() and int(announced[:20]) > most
        if is_large and b"expect" in headers:  # the client waits for leave to send it
            raise _closing("too_large", f"the body has more than {most} bytes; send less")
        chunks: list[bytes] = []
        size, has_more = 0, True
        try:
            async with asyncio.timeout(self._limits.seconds):
                while has_more and not is_large:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise JobDropped
                    chunks.append(message.get("body", b""))
                    size += len(chunks[-1])
                    is_large, has_more = size > most, message.get("more_body", False)
        except TimeoutError:
            message = f"the body did not arrive within {self._limits.seconds:g} s"
            raise _closing("slow_body", message) from None
        if is_large:
            if has_more:
                await self._discard(receive)
            raise ProblemError("too_large", f"the body has more than {most} bytes; send less")
        return b"".join(chunks)

    async def _discard(self, receive: Receive) -> None:
        size = 0
        try:
            async with asyncio.timeout(OVERRUN_SECONDS):
                while size < OVERRUN * self._limits.body:
                    message = await receive()
                    size += len(message.get("body", b""))
                    if not message.get("more_body", False):
                        return
        except TimeoutError:
            return


class _ResponseMonitor:
    """Passes a response on and remembers its status."""

    def __init__(self, send: Send, is_stopping: Callable[[], bool]) -> None:
        self._send, self._is_stopping = send, is_stopping
        self.status = GONE
        self.has_begun = False

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status, self.has_begun = message["status"], True
            if self._is_stopping():
                message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
        await self._send(message)

    async def send_problem(self, problem: ProblemError) -> None:
        """Sends an error, unless a response has begun."""
        if self.has_begun:
            return
        headers = [(name.encode(), value.encode()) for name, value in problem.headers.items()]
        headers.append((b"content-length", str(len(problem.body)).encode()))
        start = {"type": "http.response.start", "status": problem.status, "headers": headers}
        await self(start)
        await self({"type": "http.response.body", "body": problem.body})


def _check_framing(version: str, headers: Mapping[bytes, bytes]) -> None:
    """Refuses a body of two lengths: a proxy in front may have read another one (RFC 9112, 6.1).

    Also refuses other protocols than HTTP/1, whose frames have the form of a request.
    """
    if not version.startswith("1."):
        raise _closing("malformed", f"the server speaks HTTP/1.1, not HTTP/{version}")
    if b"content-length" in headers and b"transfer-encoding" in headers:
        message = "Content-Length and Transfer-Encoding are both set; leave out one of them"
        raise _closing("malformed", message)


def _closing(code: str, message: str) -> ProblemError:
    """An error after which the connection cannot be used."""
    problem = ProblemError(code, message)
    problem.headers["connection"] = "close"
    return problem


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that first returns a body that was read already."""
    is_replayed = False

    async def replayed() -> Any:
        nonlocal is_replayed
        if is_replayed:
            return await receive()
        is_replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed

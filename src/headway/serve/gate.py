"""The gate before the application: who may come in, how much they may bring, what nobody caught.

Plain ASGI, because it has to see bodies before they are held in memory. Answers errors itself, in
the shape that all of them have.
"""

import asyncio
import hmac
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from .batcher import Dropped
from .limits import Limits
from .metrics import Metrics
from .problems import ProblemError, problem_of
from .service import Receive

Send = Callable[[Any], Awaitable[None]]
App = Callable[[Any, Receive, Send], Awaitable[None]]

FREE = ("/", "/health")
"""Paths that need no token: the page is the same for everybody and holds nothing of the runs."""
GONE = 499  # how servers count a client that has gone
OVERRUN = 16
"""So many times the largest body are read and thrown away, so that a client that sends first and
reads then can read why it was refused."""
OVERRUN_SECONDS = 3.0


class Gate:
    """Lets requests through to `app`.

    Args:
        token: what `Authorization: Bearer ...` has to say, if anything.
        paths: those that are counted by name.
    """

    def __init__(
        self, app: App, limits: Limits, token: str | None, metrics: Metrics, paths: Sequence[str]
    ) -> None:
        self._app, self._limits, self._metrics = app, limits, metrics
        self._token = None if token is None else token.encode()
        self._paths = frozenset(paths)
        self._n_open = 0

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send)
        began = time.perf_counter()
        self._n_open += 1
        try:
            await self._pass(scope, receive, answer)
        except Dropped:
            answer.status = GONE
        except Exception as error:
            problem = problem_of(error, self._limits.seconds)
            if problem.code == "failed":
                traceback.print_exception(error, file=sys.stderr)
            if not answer.has_begun:
                await answer.refuse(problem)
        finally:
            self._n_open -= 1
            path = scope["path"] if scope["path"] in self._paths else "other"
            self._metrics.request(path, answer.status, time.perf_counter() - began)

    async def _pass(self, scope: Any, receive: Receive, answer: "_Answer") -> None:
        headers = {name.lower(): value for name, value in scope["headers"]}
        if scope["path"] not in FREE:
            self._check_token(headers.get(b"authorization", b""))
        if scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self._app(scope, receive, answer)
            return
        if self._n_open > self._limits.queue:
            message = "too many requests are open already; try again in 1 s"
            raise ProblemError("busy", message, retry_after=1)
        body = await self._body(receive, headers.get(b"content-length", b""))
        await self._app(scope, _replayed(body, receive), answer)

    def _check_token(self, given: bytes) -> None:
        if self._token is None:
            return
        kind, _, token = given.partition(b" ")
        # In constant time, so that nothing can be learned from how long it takes.
        if kind.lower() != b"bearer" or not hmac.compare_digest(token.strip(), self._token):
            message = "a token is needed here; send it as Authorization: Bearer TOKEN"
            raise ProblemError("unauthorized", message)

    async def _body(self, receive: Receive, announced: bytes) -> bytes:
        """All of the body, if it is small enough and comes in time."""
        most = self._limits.body
        is_large = announced.isdigit() and int(announced[:20]) > most
        chunks: list[bytes] = []
        size, goes_on = 0, True
        try:
            async with asyncio.timeout(self._limits.seconds):
                while goes_on and not is_large:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Dropped
                    chunks.append(message.get("body", b""))
                    size += len(chunks[-1])
                    is_large, goes_on = size > most, message.get("more_body", False)
        except TimeoutError:
            message = f"the body did not come within {self._limits.seconds:g} s"
            raise ProblemError("slow_body", message) from None
        if is_large:
            if goes_on:
                await self._throw_away(receive)
            raise ProblemError("too_large", f"the body has more than {most} bytes; ask for less")
        return b"".join(chunks)

    async def _throw_away(self, receive: Receive) -> None:
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


class _Answer:
    """Passes an answer on and remembers how it began."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = GONE
        self.has_begun = False

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status, self.has_begun = message["status"], True
        await self._send(message)

    async def refuse(self, problem: ProblemError) -> None:
        headers = [(name.encode(), value.encode()) for name, value in problem.headers.items()]
        headers.append((b"content-length", str(len(problem.body)).encode()))
        start = {"type": "http.response.start", "status": problem.status, "headers": headers}
        await self(start)
        await self({"type": "http.response.body", "body": problem.body})


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Gives a body that was read already, then whatever comes."""
    is_given = False

    async def replayed() -> Any:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed

"""uvicorn's HTTP protocol with JSON errors, answers for half-closed connections, and a limit.

uvicorn is an extra: the class is made when a server starts.
"""

from typing import Any

from .errors import ProblemError

PROBE_SECONDS = (0.05, 1.0)
"""The first and the longest time between two probes; it doubles."""


def make_protocol(most: int) -> type:
    """The protocol class for `uvicorn.Config(http=...)`.

    Args:
        most: the most open connections. One more closes the connection that has been idle for
            longest, so that idle ones cannot keep others out.
    """
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Protocol(H11Protocol):
        is_half_closed = False

        @property
        def is_idle(self) -> bool:
            """Whether the connection has no request, or only a part of its header."""
            return self.cycle is None or self.cycle.response_complete

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.idle_since = self.loop.time()
            if len(self.connections) > most:
                protocols: Any = self.connections
                idle = [p for p in protocols if p.is_idle and not p.transport.is_closing()]
                min(idle, key=lambda protocol: protocol.idle_since).transport.abort()

        def on_response_complete(self) -> None:
            super().on_response_complete()  # begins the next request, if it is there already
            self.idle_since = self.loop.time()
            if self.is_half_closed:
                self._finish()

        def send_400_response(self, msg: str) -> None:
            """Answers a request that is not valid HTTP, unless a response has begun."""
            if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                problem = ProblemError("malformed", "this is not a valid HTTP/1.1 request")
                headers = [*problem.headers.items(), ("connection", "close")]
                headers.append(("content-length", str(len(problem.body))))
                for event in (
                    h11.Response(status_code=problem.status, headers=headers),
                    h11.Data(data=problem.body),
                    h11.EndOfMessage(),
                ):
                    self.transport.write(self.conn.send(event) or b"")
            if self.cycle is not None:  # the application may not answer the same request again
                self.cycle.disconnected = True
                self.cycle.message_event.set()
            self.transport.close()

        def eof_received(self) -> Any:
            """Keeps the connection if complete requests still wait for their responses."""
            if self.is_idle or self.cycle.more_body:
                return None  # closes the connection
            self.is_half_closed = True
            self._finish()
            return True

        def _finish(self) -> None:
            """Waits for the response to the current request, if the client sent it completely.

            The end of the stream means that the client sends no more, or that it has gone; probes
            tell the two apart.
            """
            if self.is_idle or self.cycle.more_body:
                self.transport.close()
            else:
                self._probe(self.cycle, PROBE_SECONDS[0])

        def _probe(self, cycle: Any, seconds: float) -> None:
            """Sends an interim response: a client that has gone resets the connection.

            HTTP/1.0 has none; such a client is answered in any case.
            """
            if cycle.disconnected or cycle.response_started or self.transport.is_closing():
                return
            if cycle.scope["http_version"] == "1.1":
                interim = h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue")
                self.transport.write(self.conn.send(interim) or b"")
                longer = min(2 * seconds, PROBE_SECONDS[1])
                self.loop.call_later(seconds, self._probe, cycle, longer)

    return Protocol

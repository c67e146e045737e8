"""uvicorn's HTTP protocol with JSON errors, and answers for clients that close their sending side.

uvicorn is an extra: the class is made when a server starts.
"""

from typing import Any

from .errors import ProblemError

PROBE_SECONDS = (0.05, 1.0)
"""The first and the longest time between two probes; it doubles."""


def make_protocol() -> type:
    """The protocol class for `uvicorn.Config(http=...)`."""
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Protocol(H11Protocol):
        def send_400_response(self, msg: str) -> None:
            """Answers a request that is not valid HTTP, unless a response has begun."""
            if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                problem = ProblemError("malformed", "this is not a valid HTTP/1.1 request")
                headers = [*problem.headers.items(), ("connection", "close")]
                for event in (
                    h11.Response(status_code=problem.status, headers=headers),
                    h11.Data(data=problem.body),
                    h11.EndOfMessage(),
                ):
                    self.transport.write(self.conn.send(event) or b"")
            self.transport.close()

        def eof_received(self) -> Any:
            """Keeps the connection if a complete request still waits for its response.

            The end of the stream means that the client sends no more, or that it has gone; probes
            tell the two apart.
            """
            if self.cycle is None or self.cycle.response_complete or self.cycle.more_body:
                return None  # closes the connection
            self.cycle.keep_alive = False
            self._probe(PROBE_SECONDS[0])
            return True

        def _probe(self, seconds: float) -> None:
            """Sends an interim response: a client that has gone resets the connection.

            HTTP/1.0 has none; such a client is answered in any case.
            """
            cycle = self.cycle
            if cycle.disconnected or cycle.response_started or self.transport.is_closing():
                return
            if cycle.scope["http_version"] == "1.1":
                interim = h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue")
                self.transport.write(self.conn.send(interim) or b"")
                self.loop.call_later(seconds, self._probe, min(2 * seconds, PROBE_SECONDS[1]))

    return Protocol

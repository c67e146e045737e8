"""Requests as raw bytes over sockets, and servers in processes of their own."""

import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Reply:
    """A response as it came over the wire."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> str:
        """The code of an error."""
        code: str = json.loads(self.body)["error"]["code"]
        return code


def parse_replies(data: bytes, is_head: bool = False) -> list[Reply]:
    """The responses in a stream, without interim ones; the last may be cut off."""
    replies = []
    while data:
        head, end, data = data.partition(b"\r\n\r\n")
        assert end, head
        first, *lines = head.decode("latin-1").split("\r\n")
        version, status, *_ = first.split(" ")
        assert version == "HTTP/1.1", first
        headers = {name.lower(): value.strip() for name, _, value in map(split, lines)}
        if status == "100":
            continue
        if headers.get("transfer-encoding") == "chunked":
            body, data = unchunk(data)
        else:
            size = 0 if is_head else int(headers["content-length"])
            body, data = data[:size], data[size:]
        replies.append(Reply(int(status), headers, body))
    return replies


def split(line: str) -> tuple[str, str, str]:
    return line.partition(":")


def unchunk(data: bytes) -> tuple[bytes, bytes]:
    """The body of a chunked response, and what follows it."""
    body = b""
    while True:
        size, _, data = data.partition(b"\r\n")
        number = int(size or b"0", 16)
        body, data = body + data[:number], data[number + 2 :]
        if not number:
            return body, data


class ServerProcess:
    """A `headway serve` process; its standard error is kept in a file."""

    def __init__(
        self, errors: Path, *arguments: Any, token: str | None = None, **more: Any
    ) -> None:
        command = [sys.executable, "-m", "headway", "serve", *map(str, arguments)]
        command += ["--port", "0", "--json"]
        env = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.errors, self.token = errors, token
        if token is not None:
            env["HEADWAY_TOKEN"] = token
        with errors.open("w") as file:
            self.process = subprocess.Popen(
                command, env=env, stdout=subprocess.PIPE, stderr=file, text=True, **more
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.said()
        self.port = int(json.loads(line)["url"].rpartition(":")[2])

    def said(self) -> str:
        """Standard error so far."""
        return self.errors.read_text()

    def connect(self, timeout: float = 120) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def head(self, first: str, *lines: str) -> bytes:
        """The header of a request, with host and token."""
        token = [] if self.token is None else [f"Authorization: Bearer {self.token}"]
        return "\r\n".join([first, "Host: localhost", *token, *lines, "", ""]).encode()

    def post(self, path: str, content: Any, *lines: str) -> bytes:
        """A complete request with a JSON body."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        more = ("Content-Type: application/json", f"Content-Length: {len(body)}", *lines)
        return self.head(f"POST {path} HTTP/1.1", *more) + body

    def send(self, data: bytes, *, half_closes: bool = True, is_head: bool = False) -> list[Reply]:
        """The responses to some bytes, until the server closes the connection.

        A server may close while bytes of the client are still unread; the client then sees a reset,
        perhaps before it could read.
        """
        received = b""
        with self.connect() as connection:
            try:
                connection.sendall(data)
                if half_closes:
                    connection.shutdown(socket.SHUT_WR)
                while part := connection.recv(65536):
                    received += part
            except TimeoutError:
                raise
            except OSError:
                pass
        return parse_replies(received, is_head)

    def stop(self) -> int:
        """The exit code after SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=300)
        return self.process.returncode

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

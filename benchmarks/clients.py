"""The clients of the load benchmark, a program of its own: so many connections, side by side.

    python benchmarks/clients.py URL LINES.json --clients 32 --seconds 10

Each client asks for one sentence at a time until the time is up, and waits for what it has asked.
Plain sockets: a library would take more time than some servers. One line of JSON: how many were
asked, how long it took, every answer, and the failures of the others by reason.
"""

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
FAILURES = (RuntimeError, OSError, asyncio.IncompleteReadError)


async def ask(streams: Streams, text: str) -> Any:
    """The answer to one request.

    Raises:
        RuntimeError: another status than 200.
        OSError, IncompleteReadError: the connection was closed.
    """
    reader, writer = streams
    body = json.dumps({"texts": [text]}).encode()
    head = "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    answer = await reader.readuntil(b"\r\n\r\n")
    status, *headers = answer.decode().split("\r\n")
    sizes = [line.split(":")[1] for line in headers if line.lower().startswith("content-length")]
    content = await reader.readexactly(int(sizes[0]))
    if " 200 " not in status:
        raise RuntimeError(f"{status}: {content[:200]!r}")
    return json.loads(content)


async def client(
    url: str, lines: list[str], end: float, rows: Any, failures: Counter[str]
) -> list[Any]:
    """Answers until the time is up, each with when it came."""
    address = urlsplit(url)
    streams = await asyncio.open_connection(address.hostname, address.port, limit=2**22)
    answers = []
    while (began := time.perf_counter()) < end:
        row = next(rows) % len(lines)
        try:
            found = await ask(streams, lines[row])
        except FAILURES as error:
            failures[str(error)] += 1
            streams[1].close()
            streams = await asyncio.open_connection(address.hostname, address.port, limit=2**22)
            continue
        [result] = found["results"]
        output = result["outputs"][0]
        answers.append(
            {
                "row": row,
                "source": result.get("source"),
                "text": output["text"],
                "score": output.get("score"),
                "seconds": time.perf_counter() - began,
            }
        )
    streams[1].close()
    return answers


async def run(given: argparse.Namespace) -> dict[str, Any]:
    lines = json.loads(given.lines.read_text())
    asked, failures = count(), Counter[str]()
    began = time.perf_counter()
    end = began + given.seconds
    each = await asyncio.gather(
        *(client(given.url, lines, end, asked, failures) for _ in range(given.clients))
    )
    elapsed = time.perf_counter() - began
    answers = [answer for some in each for answer in some]
    return {"asked": next(asked), "elapsed": elapsed, "answers": answers, "failures": failures}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("lines", type=Path)
    parser.add_argument("--clients", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    json.dump(asyncio.run(run(parser.parse_args())), sys.stdout)


if __name__ == "__main__":
    main()

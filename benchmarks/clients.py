"""The clients of the load benchmark, a program of its own: so many connections, side by side.

    python benchmarks/clients.py URL LINES.json --clients 32 --seconds 10

Each client asks for one sentence at a time until the time is up, and waits for what it has asked.
Plain sockets: a library would take more time than some servers. One line of JSON: how many were
asked, how long it took, and every answer.
"""

import argparse
import asyncio
import json
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def ask(streams: Streams, text: str) -> Any:
    """The answer to one request."""
    reader, writer = streams
    body = json.dumps({"texts": [text]}).encode()
    head = "POST /translate HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    answer = await reader.readuntil(b"\r\n\r\n")
    status, *headers = answer.decode().split("\r\n")
    sizes = [line.split(":")[1] for line in headers if line.lower().startswith("content-length")]
    content = await reader.readexactly(int(sizes[0]))
    if " 200 " not in status:
        raise RuntimeError(f"{status}: {content[:200]!r}")
    return json.loads(content)


async def client(host: str, port: int, lines: list[str], end: float, rows: Any) -> list[Any]:
    """Answers until the time is up, each with when it came."""
    streams = await asyncio.open_connection(host, port, limit=2**22)
    answers = []
    while (began := time.perf_counter()) < end:
        row = next(rows) % len(lines)
        found = await ask(streams, lines[row])
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
    address = urlsplit(given.url)
    asked = count()
    began = time.perf_counter()
    end = began + given.seconds
    each = await asyncio.gather(
        *(client(address.hostname, address.port, lines, end, asked) for _ in range(given.clients))
    )
    elapsed = time.perf_counter() - began
    answers = [answer for some in each for answer in some]
    return {"asked": next(asked), "elapsed": elapsed, "answers": answers}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("lines", type=Path)
    parser.add_argument("--clients", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    json.dump(asyncio.run(run(parser.parse_args())), sys.stdout)


if __name__ == "__main__":
    main()

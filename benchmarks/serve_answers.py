"""Answers of a server whose workers are killed, compared with offline translation.

Clients (`clients.py`) ask for one sentence after the other over loopback, while a worker of the
server is killed (SIGKILL) again and again. No answer may be wrong, lost or another client's.
Progress goes to standard error; the last line, on standard output, is JSON. Linux only.
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from alike import start_alike
from serve_load import OURS, Judge, Server, load, say

from headway.data.formats.lines import read_lines
from headway.errors import HeadwayError

FAULTS = ("wrong", "mixed", "lost")


class WorkerKiller:
    """Kills a random worker of a server again and again, in a thread of this process.

    Args:
        seconds: the mean time between two kills; the times themselves are random.
    """

    def __init__(self, process: int, seconds: float, seed: int) -> None:
        self.killed: list[int] = []
        self._process, self._seconds = process, seconds
        self._random = random.Random(seed)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "WorkerKiller":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._random.uniform(0, 2 * self._seconds)):
            workers = children(self._process)
            if workers:
                victim = self._random.choice(workers)
                with suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)
                    self.killed.append(victim)


def children(process: int) -> list[int]:
    """The processes that any thread of a process has started."""
    found = []
    for file in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(FileNotFoundError):  # the thread has ended
            found += [int(child) for child in file.read_text().split()]
    return found


def ask(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Counts of answers by how they compare, of kills and of rounds."""
    texts = [line for line in read_lines(str(given.source)) if line.strip()][: given.limit]
    lines = folder / "lines.json"
    lines.write_text(json.dumps(texts))
    judge = Judge(given.run, texts)
    command = ["-m", "headway", "serve", f"run={given.run}", "--port", "0", "--json"]
    server = Server(OURS, command)
    server.start()
    assert server.process is not None
    seconds = 0.0
    try:
        with WorkerKiller(server.process.pid, given.kill_seconds, given.seed) as killer:
            while judge.checked(OURS) < given.answers:
                found = load(server, given.clients, given.seconds, lines)
                judge(OURS, found["asked"], found["answers"])
                seconds += found["elapsed"]
                say(f"  {judge.checked(OURS)} of {given.answers}: {judge.counts[OURS]}")
    finally:
        code = server.stop()
    return {
        "name": "serve_answers",
        "answers": judge.checked(OURS),
        "checked": judge.counts[OURS],
        "killed": len(killer.killed),
        "exit_code": code,
        "clients": given.clients,
        "sentences": len(texts),
        "per_second": round(judge.checked(OURS) / seconds, 1),
        "cores": os.cpu_count(),
    }


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="a run directory with a translation model")
    parser.add_argument("--source", type=Path, required=True, help="file of input lines")
    parser.add_argument("--answers", type=int, default=50_000, help="the fewest answers to check")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--kill-seconds", type=float, default=2.0, help="mean time between kills")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each round of requests")
    parser.add_argument("--limit", type=int, default=None, help="lines to use")
    parser.add_argument("--seed", type=int, default=0, help="of the kills")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    given = parse(arguments)
    try:
        with tempfile.TemporaryDirectory() as folder:
            results = ask(given, Path(folder))
    except HeadwayError as error:
        say(f"error: {error}")
        return error.exit_code
    print(json.dumps(results))
    has_faults = any(results["checked"][kind] for kind in FAULTS)
    return 1 if has_faults or results["exit_code"] else 0


if __name__ == "__main__":
    start_alike()
    sys.exit(main())

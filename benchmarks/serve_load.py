"""Load on servers: headway with and without batching, and a plain endpoint around Hugging Face.

Each contestant is a process with the same weights; so are the clients (`clients.py`), of which each
asks for one sentence after the other over loopback. Contestants take turns. Every answer is
compared with offline translation: none may be wrong, lost or another one's. Progress goes to
standard error; the last line, on standard output, is JSON.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import torch
from alike import start_alike

import headway
from headway.data.formats.lines import read_lines
from headway.errors import HeadwayError
from headway.interop.export import export

OURS, ALONE, HF = "headway", "headway unbatched", "huggingface"
CLIENTS = (1, 8, 32, 64)
AIMED = 32  # clients at which the ratios are aimed
ENOUGH = 5000  # answers of headway to check
TIE = 1e-4  # scores that differ by less are the same answer
FOLDER = Path(__file__).parent
# How a plain endpoint may be written; the fastest one takes part.
PLAIN = {
    "one at a time, all threads": ["--serial"],
    "a thread for each request, all threads": [],
    "a thread for each request, one thread in torch": ["--threads", "1"],
}


@dataclass
class Server:
    """A contestant in its process."""

    name: str
    command: list[str]
    process: subprocess.Popen[str] | None = None
    url: str = ""

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *self.command], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the server of {self.name} ended with {self.process.wait()}")
        self.url = json.loads(line)["url"]

    def stop(self) -> int | None:
        """The exit code of the process, if it was started."""
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.communicate()
        return None if self.process is None else self.process.returncode


@dataclass
class Load:
    """What one contestant did under a number of clients."""

    rates: list[float] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        cuts = quantiles(self.milliseconds, n=100)
        return {
            "per_second": round(median(self.rates), 1),
            "rounds": [round(rate, 1) for rate in self.rates],
            "median_ms": round(cuts[49], 1),
            "p99_ms": round(cuts[98], 1),
            "answers": len(self.milliseconds),
        }


class Judge:
    """Compares answers with offline translation."""

    def __init__(self, run: Path, lines: Sequence[str]) -> None:
        self.right = [one.outputs[0] for one in headway.load(run).translate(lines)]
        self.lines = lines
        self.counts: dict[str, dict[str, int]] = {}

    def __call__(self, name: str, asked: int, answers: Sequence[Mapping[str, Any]]) -> None:
        kinds = ("same", "tie", "wrong", "mixed", "lost")
        counts = self.counts.setdefault(name, dict.fromkeys(kinds, 0))
        counts["lost"] += asked - len(answers)
        for answer in answers:
            counts[self._kind(answer)] += 1

    def _kind(self, answer: Mapping[str, Any]) -> str:
        right = self.right[answer["row"]]
        if answer["source"] not in (None, self.lines[answer["row"]]):
            return "mixed"
        if answer["text"] == right.text:
            return "same"
        score = answer["score"]
        return "tie" if score is not None and abs(score - right.score) <= TIE else "wrong"

    def checked(self, name: str) -> int:
        return sum(self.counts.get(name, {}).values())


def load(server: Server, clients: int, seconds: float, lines: Path) -> dict[str, Any]:
    """What the clients' process saw."""
    command = [sys.executable, str(FOLDER / "clients.py"), server.url, str(lines)]
    command += ["--clients", str(clients), "--seconds", str(seconds)]
    found: dict[str, Any] = json.loads(subprocess.check_output(command, text=True))
    for failure, times in found["failures"].items():
        say(f"  {server.name}: {times} requests failed: {failure}")
    return found


def contestants(given: argparse.Namespace, export_folder: Path) -> list[Server]:
    ours = ["-m", "headway", "serve", f"run={given.run}", "--port", "0", "--json"]
    return [
        Server(OURS, ours),
        Server(ALONE, [*ours, "--batch-tokens", "1"]),
        Server(HF, [str(FOLDER / "plain_server.py"), str(export_folder)]),
    ]


def best_plain(server: Server, given: argparse.Namespace, lines: Path) -> str:
    """Gives the peer the way of writing that is fastest at the number of clients aimed at."""
    rates, command = {}, server.command
    for name, options in PLAIN.items():
        server.command = [*command, *options]
        server.start()
        load(server, AIMED, given.seconds / 4, lines)
        rates[name] = rate(load(server, AIMED, given.seconds / 2, lines))
        server.stop()
        say(f"  {HF}, {name}: {rates[name]:.1f} per second")
    best = max(rates, key=lambda name: rates[name])
    server.command = [*command, *PLAIN[best]]
    return best


def rate(found: Mapping[str, Any]) -> float:
    return len(found["answers"]) / found["elapsed"]


def compare(given: argparse.Namespace, place: Path) -> dict[str, Any]:
    texts = [line for line in read_lines(str(given.source)) if line.strip()][: given.limit]
    lines = place / "lines.json"
    lines.write_text(json.dumps(texts))
    done = export(headway.load(given.run), "hf", place / "hf")
    if done.check is not None:
        say(f"hf: {done.check.what} differ by at most {done.check.difference:.1e}")
    judge = Judge(given.run, texts)
    servers = contestants(given, place / "hf")
    written = best_plain(servers[-1], given, lines)
    loads = {server.name: {clients: Load() for clients in given.clients} for server in servers}
    try:
        for server in servers:
            server.start()
            load(server, max(given.clients), given.seconds / 4, lines)  # not counted
        for i in range(given.rounds):
            for clients in given.clients:
                for server in [*servers[i % 3 :], *servers[: i % 3]]:
                    note(loads[server.name][clients], judge, server, clients, given, lines)
                shown = (f"{name} {loads[name][clients].rates[-1]:.1f}" for name in loads)
                say(f"  {clients} clients, round {i + 1}/{given.rounds}: {', '.join(shown)}/s")
        while judge.checked(OURS) < given.enough:
            note(Load(), judge, servers[0], max(given.clients), given, lines)
    finally:
        for server in servers:
            server.stop()
    return {"loads": loads, "agreement": judge.counts, "written": written, "sentences": len(texts)}


def note(
    to: Load, judge: Judge, server: Server, clients: int, given: argparse.Namespace, lines: Path
) -> None:
    found = load(server, clients, given.seconds, lines)
    to.rates.append(rate(found))
    to.milliseconds += [1e3 * answer["seconds"] for answer in found["answers"]]
    judge(server.name, found["asked"], found["answers"])


def report(given: argparse.Namespace, results: dict[str, Any]) -> dict[str, Any]:
    import transformers

    loads = results["loads"]
    figures = {
        name: {str(clients): one.figures() for clients, one in each.items()}
        for name, each in loads.items()
    }
    ratios = {
        f"{OURS}/{peer} at {clients} clients": round(
            median(loads[OURS][clients].rates) / median(loads[peer][clients].rates), 2
        )
        for peer in (ALONE, HF)
        for clients in given.clients
    }
    return {
        "name": "serve_load",
        "ratios": ratios,
        "compared": {
            OURS: "headway serve with its defaults",
            ALONE: "the same with --batch-tokens 1",
            HF: f"FastAPI and transformers {transformers.__version__} generate: "
            f"{results['written']}",
        },
        "same": "weights, sentences, beam, length penalty and stop rule, machine, loopback",
        "checked": results["agreement"],
        "figures": figures,
        "run": given.run.name,
        "sentences": results["sentences"],
        "rounds": given.rounds,
        "seconds": given.seconds,
        "cores": os.cpu_count(),
        "wait_policy": os.environ.get("OMP_WAIT_POLICY", "unset"),
        "torch": torch.__version__,
    }


def faults(counts: Mapping[str, Mapping[str, int]]) -> int:
    """Answers of ours that are wrong, lost or another one's."""
    return sum(counts[name][kind] for name in (OURS, ALONE) for kind in ("wrong", "mixed", "lost"))


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="a run directory with a Transformer")
    parser.add_argument("--source", type=Path, required=True, help="file of input lines")
    parser.add_argument("--clients", type=int, nargs="+", default=list(CLIENTS))
    parser.add_argument("--seconds", type=float, default=10.0, help="of each load")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=int, default=None, help="lines to use")
    parser.add_argument("--enough", type=int, default=ENOUGH, help="answers of headway to check")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    given = parse(arguments)
    try:
        with tempfile.TemporaryDirectory() as place:
            results = compare(given, Path(place))
    except HeadwayError as error:
        say(f"error: {error}")
        return error.exit_code
    print(json.dumps(report(given, results)))
    return 1 if faults(results["agreement"]) else 0


if __name__ == "__main__":
    start_alike()
    sys.exit(main())

"""Decoding speed of headway beside Hugging Face and CTranslate2: the same weights, in one run.

A trained run is exported to both, everybody searches the same encoded sentences with the same
settings, each in a process of its own (`decoders.py`), and rounds take turns: the whole set by beam
and greedily, then one sentence at a time. Outputs are compared by the model's own scores. Progress
goes to standard error; the last line, on standard output, is JSON.
"""

import argparse
import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import numpy as np
import torch
from alike import start_alike
from decoders import CT2, HF, INT8, NAMES, OURS, Outputs, Settings, Sources, read_sources

import headway
from headway.errors import HeadwayError
from headway.interop.export import export
from headway.text import EOS

BEAM = 5
TIE = 1e-4  # scores that differ by less are the same answer
TRIED = 200  # sentences on which peers may choose their settings
PROGRAM = Path(__file__).with_name("decoders.py")


class Rival:
    """A contestant in its process, which waits until it is asked."""

    def __init__(self, name: str, given: argparse.Namespace, exports: Path) -> None:
        arguments = [name, str(given.run), "--source", str(given.source)]
        arguments += ["--exports", str(exports), "--threads", str(given.threads)]
        arguments += ["--limit", str(given.limit)]
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.name = name
        self.process = subprocess.Popen([sys.executable, str(PROGRAM), *arguments], **pipes)
        self.peak = 0.0  # of its memory while it was watched, in MB

    def ask(self, watch: bool = False, **what: Any) -> dict[str, Any]:
        """Its answer; with `watch`, how large it becomes meanwhile is noted in `peak`."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(what), file=self.process.stdin, flush=True)
        while watch and not select.select([self.process.stdout], [], [], 0.05)[0]:
            self.peak = max(self.peak, sum(map(proportional_size, family(self.process.pid))))
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of {self.name} ended with {self.process.wait()}")
        found: dict[str, Any] = json.loads(line)
        return found

    def end(self) -> None:
        self.process.communicate()  # closes its input, at which it stops


def family(pid: int) -> list[int]:
    """A process and its descendants."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:  # it has just ended
        return []
    return [pid, *(member for child in children for member in family(int(child)))]


def proportional_size(pid: int) -> float:
    """MB of a process; pages that processes share count once."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def exported(translator: headway.Translator, place: Path) -> Path:
    """The run in the formats of both peers, each written with its own proof of parity."""
    for to in ("hf", "ctranslate2"):
        done = export(translator, to, place / to)
        if done.check is not None:
            say(f"{to}: {done.check.what} differ by at most {done.check.difference:.1e}")
    return place


# Measuring


def in_turn(rivals: Sequence[Rival], i: int) -> list[Rival]:
    """Another one begins each time."""
    first = i % len(rivals)
    return [*rivals[first:], *rivals[:first]]


def whole_set(
    rivals: Sequence[Rival],
    settings: Mapping[str, Settings],
    n_sentences: int,
    beam: int,
    rounds: int,
) -> tuple[dict[str, list[float]], dict[str, Outputs]]:
    """Seconds of each contestant in every round."""
    seconds: dict[str, list[float]] = {one.name: [] for one in rivals}
    outputs: dict[str, Outputs] = {}
    for i in range(rounds):
        for one in in_turn(rivals, i):
            found = one.ask(beam=beam, settings=settings[one.name])
            seconds[one.name].append(found["seconds"])
            outputs[one.name] = found["outputs"]
        shown = ", ".join(f"{name} {n_sentences / each[-1]:.0f}" for name, each in seconds.items())
        say(f"  beam {beam}, round {i + 1}/{rounds}: {shown} sentences/s")
    return seconds, outputs


def latency(rivals: Sequence[Rival], n_sentences: int, beam: int, number: int) -> dict[str, Any]:
    """Seconds of single sentences; the contestants take turns at every sentence."""
    chosen = list(range(0, n_sentences, max(1, n_sentences // number)))[:number]
    seconds: dict[str, list[float]] = {one.name: [] for one in rivals}
    for one in rivals:
        one.ask(beam=beam, rows=chosen[:1])  # the first is not counted
    for i, row in enumerate(chosen):
        for one in in_turn(rivals, i):
            seconds[one.name].append(one.ask(beam=beam, rows=[row])["seconds"])
    found = {}
    for name, each in seconds.items():
        cuts = quantiles(each, n=100)
        found[name] = {"median_ms": round(1e3 * cuts[49], 1), "p99_ms": round(1e3 * cuts[98], 1)}
        say(
            f"  one sentence, beam {beam}, {name}: median {found[name]['median_ms']} ms, "
            f"99th percentile {found[name]['p99_ms']} ms"
        )
    return {"milliseconds": found, "ratios": ratios(seconds)}


def ratios(seconds: Mapping[str, Sequence[float]]) -> dict[str, dict[str, Any]]:
    """How many times faster ours is: of the medians, and in each round."""
    found = {}
    for name, theirs in seconds.items():
        if name != OURS:
            each = [other / one for one, other in zip(seconds[OURS], theirs, strict=True)]
            found[f"{OURS}/{name}"] = {
                "of_medians": round(median(theirs) / median(seconds[OURS]), 3),
                "least": round(min(each), 3),
                "greatest": round(max(each), 3),
            }
    return found


# Outputs


def agreement(
    translator: headway.Translator, sources: Sources, ours: Outputs, theirs: Outputs
) -> dict[str, int]:
    """Kinds of difference by the model's own score, `log p / length ** alpha`."""
    counts = {"same": 0, "tie": 0, "ours better": 0, "peer's better": 0}
    different = [i for i in range(len(sources)) if ours[i] != theirs[i]]
    counts["same"] = len(sources) - len(different)
    alpha = translator.config.search.alpha
    for i in different:
        mine, other = (
            score(translator, sources[i], tokens, alpha) for tokens in (ours[i], theirs[i])
        )
        kind = "tie" if abs(mine - other) <= TIE else "ours" if mine > other else "peer's"
        counts[kind if kind == "tie" else f"{kind} better"] += 1
    return counts


def score(
    translator: headway.Translator, source: np.ndarray, tokens: list[int], alpha: float
) -> float:
    target = np.array([*tokens, EOS])
    (log_probs,) = translator.forced([source], [target])
    return float(log_probs.sum()) / len(target) ** alpha


# The program


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def compare(given: argparse.Namespace, place: Path) -> dict[str, Any]:
    translator = headway.load(given.run)
    sources = read_sources(given.run, given.source, given.limit)
    exports = exported(translator, place)
    rivals = [Rival(name, given, exports) for name in NAMES]
    try:
        results: dict[str, Any] = {
            f"beam {beam}": throughput(rivals, translator, sources, beam, given.rounds)
            for beam in (BEAM, 1)
        }
        results["one by one"] = latency(rivals, len(sources), BEAM, given.latency)
        results["one by one, beam 1"] = latency(rivals, len(sources), 1, given.latency)
    finally:
        for one in rivals:
            one.end()
    results["memory_mb"] = {
        name: round(memory(name, settings, given, exports))
        for name, settings in results[f"beam {BEAM}"]["settings"].items()
    }
    return {**results, "sentences": len(sources)}


def throughput(
    rivals: Sequence[Rival],
    translator: headway.Translator,
    sources: Sources,
    beam: int,
    rounds: int,
) -> dict[str, Any]:
    some = list(range(0, len(sources), max(1, len(sources) // TRIED)))
    chosen = {one.name: one.ask(tune=True, beam=beam, rows=some)["settings"] for one in rivals}
    say(f"beam {beam}: {chosen}")
    rivals[0].ask(beam=beam, rows=some)  # the others have warmed up by trying
    seconds, outputs = whole_set(rivals, chosen, len(sources), beam, rounds)
    tokens = sum(len(output) + 1 for output in outputs[OURS])
    return {
        "settings": chosen,
        "seconds": {name: [round(s, 3) for s in each] for name, each in seconds.items()},
        "sentences_per_second": {
            name: round(len(sources) / median(each), 1) for name, each in seconds.items()
        },
        "tokens_per_second": {name: round(tokens / median(each)) for name, each in seconds.items()},
        "ratios": ratios(seconds),
        "outputs": {
            name: agreement(translator, sources, outputs[OURS], found)
            for name, found in outputs.items()
            if name != OURS
        },
    }


def memory(name: str, settings: Settings, given: argparse.Namespace, exports: Path) -> float:
    """Peak of the memory of a fresh process that translates everything once, in MB."""
    one = Rival(name, given, exports)
    try:
        one.ask(watch=True, beam=BEAM, settings=settings)
    finally:
        one.end()
    return one.peak


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("run", type=Path, help="a run directory with a Transformer")
    parser.add_argument("--source", type=Path, required=True, help="file of source lines")
    parser.add_argument("--limit", type=int, default=1_000_000, help="use so many lines at most")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--latency", type=int, default=100, help="sentences translated one by one")
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args(arguments)
    for name, least in {"limit": 2, "rounds": 1, "latency": 2, "threads": 1}.items():
        if getattr(given, name) < least:
            parser.error(f"--{name} is {getattr(given, name)}; expected {least} or more")
    return given


def report(given: argparse.Namespace, results: dict[str, Any]) -> dict[str, Any]:
    import ctranslate2
    import transformers

    named = {}
    for part in (f"beam {BEAM}", "beam 1", "one by one", "one by one, beam 1"):
        suffix = "" if part == f"beam {BEAM}" else f" ({part})"
        for name, found in results[part]["ratios"].items():
            named[f"{name}{suffix}"] = found["of_medians"]
    return {
        "name": "decode_speed",
        "ratios": named,
        "measure": "sentences per second, ratio of medians over rounds; one by one: of the seconds",
        "compared": {
            OURS: "Translate.predict, one-thread processes side by side, float32",
            HF: f"transformers {transformers.__version__} generate, best batch size, float32",
            CT2: f"ctranslate2 {ctranslate2.__version__} float32, best threads and batch size",
            INT8: "the same with int8 weights and products",
        },
        "same": "weights, encoded sources, beam, length penalty and stop rule, threads, allocator",
        "run": given.run.name,
        "sentences": results.pop("sentences"),
        "rounds": given.rounds,
        "threads": given.threads,
        "wait_policy": os.environ.get("OMP_WAIT_POLICY", "unset"),
        "torch": torch.__version__,
        "results": results,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    given = parse(arguments)
    try:
        with tempfile.TemporaryDirectory() as place:
            results = compare(given, Path(place))
    except HeadwayError as error:
        say(f"error: {error}")
        return error.exit_code
    print(json.dumps(report(given, results)))
    return 0


if __name__ == "__main__":
    start_alike()
    sys.exit(main())

"""Decoding speed of headway beside Hugging Face and CTranslate2: the same weights, in one run.

A trained run is exported to both, everybody searches the same encoded sentences with the same
settings, and rounds take turns: the whole set by beam and greedily, then one sentence at a time.
Outputs are compared by the model's own scores. Progress goes to standard error; the last line, on
standard output, is JSON.
"""

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import numpy as np
import torch

import headway
from headway.api.export import export
from headway.cli.allocator import keep_freed_memory
from headway.data.collate import pad
from headway.data.lines import read_lines
from headway.errors import DataError, HeadwayError
from headway.search import SearchConfig
from headway.text import BOS, EOS, PAD

OURS, HF, CT2, INT8 = "headway", "huggingface", "ctranslate2 fp32", "ctranslate2 int8"
BEAM = 5
TIE = 1e-4  # scores that differ by less are the same answer
TRIED = 200  # sentences on which peers may choose their settings
Sources = Sequence[np.ndarray]
Outputs = list[list[int]]
Search = Callable[[Sources, int], Outputs]
"""From encoded sources and a beam to the best output of each, without its end mark."""


# Contestants


class Headway:
    """`Translate.predict`, as `headway translate` calls it."""

    def __init__(self, run: Path, threads: int) -> None:
        torch.set_num_threads(threads)
        self.translator = headway.load(run)

    def __call__(self, sources: Sources, beam: int) -> Outputs:
        config = self.translator.search_config(beam=beam)
        found = self.translator.task.predict(self.translator.model, sources, config)
        return [hypotheses[0].tokens for hypotheses in found]


class HuggingFace:
    """`generate` over batches of like length, with the stop rule and length penalty of ours."""

    def __init__(self, folder: Path, config: SearchConfig) -> None:
        from transformers import AutoModelForSeq2SeqLM

        self.model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
        self.config = config
        self.batch: dict[int, int] = {}  # by beam

    def tune(self, sources: Sources, beam: int) -> str:
        self.batch[beam] = fastest(
            [16, 32, 64, 128, 256], lambda size: self.generate(sources, beam, size)
        )
        return f"batches of {self.batch[beam]}"

    def settle(self, beam: int) -> None:
        """Takes what is usually fastest."""
        self.batch[beam] = 64

    def __call__(self, sources: Sources, beam: int) -> Outputs:
        return self.generate(sources, beam, self.batch.get(beam, 1))

    @torch.inference_mode()
    def generate(self, sources: Sources, beam: int, size: int) -> Outputs:
        order = sorted(range(len(sources)), key=lambda i: -len(sources[i]))
        found: dict[int, list[int]] = {}
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            ids, valid = pad([sources[i] for i in rows])
            longest = ids.shape[1] * self.config.max_ratio + self.config.max_extra
            outputs = self.model.generate(
                input_ids=torch.from_numpy(ids),
                attention_mask=torch.from_numpy(valid).long(),
                num_beams=beam,
                do_sample=False,
                early_stopping=beam > 1,
                length_penalty=self.config.alpha,
                max_length=1 + min(int(longest), self.config.max_length),  # with the begin mark
            )
            for row, tokens in zip(rows, outputs.tolist(), strict=True):
                found[row] = until_end(tokens[1:])
        return [found[i] for i in range(len(sources))]


class CTranslate2:
    """`translate_batch`; how its threads are divided and how large batches are is tried out."""

    def __init__(self, folder: Path, kind: str, config: SearchConfig, threads: int) -> None:
        self.folder, self.kind, self.config, self.threads = folder, kind, config, threads
        shared = folder / "shared_vocabulary.json"
        self.words: list[str] = json.loads(shared.read_text(encoding="utf-8"))
        self.ids = {word: index for index, word in enumerate(self.words)}
        self.chosen: dict[int, tuple[Any, int]] = {}

    @cached_property
    def alone(self) -> Any:
        """The documented choice for one sentence."""
        return self._load(inter=1, intra=self.threads)

    def _load(self, inter: int, intra: int) -> Any:
        import ctranslate2

        return ctranslate2.Translator(
            str(self.folder), compute_type=self.kind, inter_threads=inter, intra_threads=intra
        )

    def tune(self, sources: Sources, beam: int) -> str:
        workers = {"inter": self._load(inter=self.threads, intra=1), "intra": self.alone}
        choices = [(name, size) for name in workers for size in (512, 1024, 2048, 4096)]
        name, size = fastest(
            choices, lambda choice: self.translate(workers[choice[0]], sources, beam, choice[1])
        )
        self.chosen[beam] = workers[name], size
        return f"{name}_threads = {self.threads}, {size} tokens in a batch"

    def settle(self, beam: int) -> None:
        """Takes what is usually fastest."""
        self.chosen[beam] = self._load(inter=self.threads, intra=1), 1024

    def __call__(self, sources: Sources, beam: int) -> Outputs:
        worker, size = self.chosen[beam] if len(sources) > 1 else (self.alone, 0)
        return self.translate(worker, sources, beam, size)

    def translate(self, worker: Any, sources: Sources, beam: int, size: int) -> Outputs:
        longest = max(len(source) for source in sources)
        limit = longest * self.config.max_ratio + self.config.max_extra
        results = worker.translate_batch(
            [[self.words[i] for i in source] for source in sources],
            beam_size=beam,
            length_penalty=self.config.alpha,
            max_batch_size=size,
            batch_type="tokens",
            max_input_length=0,
            max_decoding_length=min(int(limit), self.config.max_length),
        )
        return [until_end([self.ids[word] for word in r.hypotheses[0]]) for r in results]


def until_end(tokens: Sequence[int]) -> list[int]:
    """Without the end mark and the padding after it."""
    kept = []
    for token in tokens:
        if token in (EOS, PAD):
            break
        if token != BOS:
            kept.append(token)
    return kept


def fastest(choices: Sequence[Any], run: Callable[[Any], object]) -> Any:
    """The choice with the shortest time of two, after one that is not counted."""

    def seconds(choice: Any) -> float:
        run(choice)
        return min(timed(lambda: run(choice))[0] for _ in range(2))

    return min(choices, key=seconds)


def make_contestants(
    run: Path, place: Path, threads: int, names: Sequence[str]
) -> dict[str, Search]:
    translator = headway.load(run)
    config = translator.search_config()
    makers: dict[str, Callable[[], Search]] = {
        OURS: lambda: Headway(run, threads),
        HF: lambda: HuggingFace(exported(translator, "hf", place), config),
        CT2: lambda: CTranslate2(
            exported(translator, "ctranslate2", place), "float32", config, threads
        ),
        INT8: lambda: CTranslate2(
            exported(translator, "ctranslate2", place), "int8", config, threads
        ),
    }
    return {name: makers[name]() for name in names}


def exported(translator: headway.Translator, to: Any, place: Path) -> Path:
    """The run in the peer's format; written once, with its own proof of parity."""
    folder = place / to
    if not folder.exists():
        done = export(translator, to, folder)
        if done.check is not None:
            say(f"{to}: {done.check.what} differ by at most {done.check.difference:.1e}")
    return folder


# Measuring


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    gc.collect()
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def whole_set(
    contestants: Mapping[str, Search], sources: Sources, beam: int, rounds: int, threads: int
) -> tuple[dict[str, list[float]], dict[str, Outputs]]:
    """Seconds of each contestant in every round; each round begins with another one."""
    names = list(contestants)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    outputs: dict[str, Outputs] = {}
    for i in range(rounds):
        for name in names[i % len(names) :] + names[: i % len(names)]:
            torch.set_num_threads(threads)
            took, outputs[name] = timed(lambda name=name: contestants[name](sources, beam))
            seconds[name].append(took)
        shown = ", ".join(f"{name} {len(sources) / seconds[name][-1]:.0f}" for name in names)
        say(f"  beam {beam}, round {i + 1}/{rounds}: {shown} sentences/s")
    return seconds, outputs


def one_by_one(
    contestants: Mapping[str, Search], sources: Sources, beam: int, threads: int
) -> dict[str, list[float]]:
    """Seconds that each sentence takes alone; the contestants take turns at every sentence."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    names = list(contestants)
    for i, source in enumerate(sources):
        for name in names[i % len(names) :] + names[: i % len(names)]:
            torch.set_num_threads(threads)
            start = time.perf_counter()
            contestants[name]([source], beam)
            seconds[name].append(time.perf_counter() - start)
    return seconds


def memory(given: argparse.Namespace, place: Path, name: str) -> float:
    """Peak of the memory of a process that translates with one contestant, in MB.

    Proportional set size, children included, so that pages which they share count once.
    """
    arguments = [str(given.run), "--source", str(given.source), "--memory-of", name]
    arguments += ["--exports", str(place), "--threads", str(given.threads)]
    arguments += ["--limit", str(given.limit)]
    peak = 0.0
    with subprocess.Popen([sys.executable, __file__, *arguments]) as process:
        while process.poll() is None:
            peak = max(peak, sum(map(proportional_size, family(process.pid))))
            time.sleep(0.05)
    if process.returncode:
        raise RuntimeError(f"the process of {name} failed with {process.returncode}")
    return peak


def family(pid: int) -> list[int]:
    """A process and its descendants."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:  # it has just ended
        return []
    return [pid, *(member for child in children for member in family(int(child)))]


def proportional_size(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


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


def compare(given: argparse.Namespace, sources: Sources, place: Path) -> dict[str, Any]:
    threads = given.threads
    contestants = make_contestants(given.run, place, threads, [OURS, HF, CT2, INT8])
    translator = contestants[OURS].translator  # type: ignore[attr-defined]
    results: dict[str, Any] = {}
    for beam in (BEAM, 1):
        torch.set_num_threads(threads)
        chosen = {
            name: one.tune(sources[:: max(1, len(sources) // TRIED)], beam)
            for name, one in contestants.items()
            if hasattr(one, "tune")
        }
        say(f"beam {beam}: " + "; ".join(f"{name}: {text}" for name, text in chosen.items()))
        contestants[OURS](sources[:20], beam)
        seconds, outputs = whole_set(contestants, sources, beam, given.rounds, threads)
        tokens = sum(len(output) + 1 for output in outputs[OURS])
        results[f"beam {beam}"] = {
            "settings": chosen,
            "seconds": {name: [round(s, 3) for s in each] for name, each in seconds.items()},
            "sentences_per_second": {
                name: round(len(sources) / median(each), 1) for name, each in seconds.items()
            },
            "tokens_per_second": {
                name: round(tokens / median(each)) for name, each in seconds.items()
            },
            "ratios": ratios(seconds),
            "outputs": {
                name: agreement(translator, sources, outputs[OURS], found)
                for name, found in outputs.items()
                if name != OURS
            },
        }
    for beam in (BEAM, 1):
        name = "one by one" if beam == BEAM else f"one by one, beam {beam}"
        results[name] = latency(contestants, sources, beam, given.latency, threads)
    results["memory_mb"] = {name: round(memory(given, place, name)) for name in contestants}
    return results


def latency(
    contestants: Mapping[str, Search], sources: Sources, beam: int, number: int, threads: int
) -> dict[str, Any]:
    some = list(sources[:: max(1, len(sources) // number)])[:number]
    one_by_one(contestants, some[:3], beam, threads)
    seconds = one_by_one(contestants, some, beam, threads)
    found = {}
    for name, each in seconds.items():
        cuts = quantiles(each, n=100)
        found[name] = {"median_ms": round(1e3 * cuts[49], 1), "p99_ms": round(1e3 * cuts[98], 1)}
        say(
            f"  one sentence, beam {beam}, {name}: median {found[name]['median_ms']} ms, "
            f"99th percentile {found[name]['p99_ms']} ms"
        )
    return {"milliseconds": found, "ratios": ratios(seconds)}


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("run", type=Path, help="a run directory with a Transformer")
    parser.add_argument("--source", type=Path, required=True, help="file of source lines")
    parser.add_argument("--limit", type=int, default=1_000_000, help="use so many lines at most")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--latency", type=int, default=100, help="sentences translated one by one")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory-of", choices=[OURS, HF, CT2, INT8], help=argparse.SUPPRESS)
    parser.add_argument("--exports", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    for name, least in {"limit": 2, "rounds": 1, "latency": 2, "threads": 1}.items():
        if getattr(given, name) < least:
            parser.error(f"--{name} is {getattr(given, name)}; expected {least} or more")
    return given


def use_memory(given: argparse.Namespace, sources: Sources) -> None:
    """Translates everything once, while somebody watches how large the process becomes."""
    made = make_contestants(given.run, given.exports, given.threads, [given.memory_of])
    contestant: Any = made[given.memory_of]
    if hasattr(contestant, "settle"):
        contestant.settle(BEAM)
    contestant(sources, BEAM)


def report(given: argparse.Namespace, results: dict[str, Any], n_sentences: int) -> dict[str, Any]:
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
            OURS: "Translate.predict, one-thread workers side by side, float32",
            HF: f"transformers {transformers.__version__} generate, best batch size, float32",
            CT2: f"ctranslate2 {ctranslate2.__version__} float32, best threads and batch size",
            INT8: "the same with int8 weights and products",
        },
        "same": "weights, encoded sources, beam, length penalty and stop rule, threads, allocator",
        "run": given.run.name,
        "sentences": n_sentences,
        "rounds": given.rounds,
        "threads": given.threads,
        "wait_policy": os.environ.get("OMP_WAIT_POLICY", "unset"),
        "torch": torch.__version__,
        "results": results,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    given = parse(arguments)
    os.environ["HF_HUB_OFFLINE"] = "1"  # before transformers is loaded: nothing is fetched
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    try:
        translator = headway.load(given.run)
        lines = [line for line in read_lines(str(given.source)) if line.strip()][: given.limit]
        sources = translator.task.source.encode_batch(lines)
        if len(sources) < 2:
            raise DataError(f"{given.source} has {len(sources)} lines with text; give 2 or more")
        if given.memory_of:
            use_memory(given, sources)
            return 0
        with tempfile.TemporaryDirectory() as place:
            results = compare(given, sources, Path(place))
    except HeadwayError as error:
        say(f"error: {error}")
        return error.exit_code
    print(json.dumps(report(given, results, len(sources))))
    return 0


def start_alike() -> None:
    """Gives the process what `headway translate` gives itself; waiting is decided at loading."""
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    keep_freed_memory()


if __name__ == "__main__":
    start_alike()
    sys.exit(main())

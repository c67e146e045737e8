"""The contestants of the decoding benchmark, each a program that is asked through its pipes.

    python benchmarks/decoders.py NAME RUN --source FILE --exports DIR

reads one JSON object per line, `{"beam": 5, "rows": [0, 3], "settings": {}}`, searches these lines
of the file (all of them without `rows`) and answers with the seconds it took and the outputs. A
process for each, because thread pools of one library slow down another's and not all survive forks.
"""

import argparse
import gc
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from alike import start_alike

import headway
from headway.data.collate import pad
from headway.data.formats.lines import read_lines
from headway.errors import DataError
from headway.search import SearchConfig
from headway.text import BOS, EOS, PAD

OURS, HF, CT2, INT8 = "headway", "huggingface", "ctranslate2 fp32", "ctranslate2 int8"
NAMES = (OURS, HF, CT2, INT8)
Sources = Sequence[np.ndarray]
Outputs = list[list[int]]
Settings = dict[str, int]


class Contestant(Protocol):
    """From encoded sources and a beam to the best output of each, without its end mark."""

    def tune(self, sources: Sources, beam: int) -> Settings:
        """The settings that are fastest for many sentences."""

    def __call__(self, sources: Sources, beam: int, settings: Settings) -> Outputs:
        """Without settings, what is best for one sentence."""


class Headway:
    """`Translate.predict`, as `headway translate` calls it."""

    def __init__(self, run: Path, threads: int) -> None:
        torch.set_num_threads(threads)
        self.translator = headway.load(run)

    def tune(self, sources: Sources, beam: int) -> Settings:
        return {}

    def __call__(self, sources: Sources, beam: int, settings: Settings) -> Outputs:
        config = self.translator.search_config(beam=beam)
        found = self.translator.task.predict(self.translator.model, sources, config)
        return [hypotheses[0].tokens for hypotheses in found]


class HuggingFace:
    """`generate` over batches of like length, with the stop rule and length penalty of ours."""

    def __init__(self, folder: Path, config: SearchConfig) -> None:
        from transformers import AutoModelForSeq2SeqLM

        self.model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
        self.config = config

    def tune(self, sources: Sources, beam: int) -> Settings:
        choices = [{"batch": size} for size in (16, 32, 64, 128, 256)]
        return fastest(choices, lambda choice: self(sources, beam, choice))

    @torch.inference_mode()
    def __call__(self, sources: Sources, beam: int, settings: Settings) -> Outputs:
        size = settings.get("batch", 1)
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
        self.translator = cache(self._load)

    def _load(self, inter: int, intra: int) -> Any:
        import ctranslate2

        return ctranslate2.Translator(
            str(self.folder), compute_type=self.kind, inter_threads=inter, intra_threads=intra
        )

    def tune(self, sources: Sources, beam: int) -> Settings:
        divisions = ({"inter": self.threads, "intra": 1}, {"inter": 1, "intra": self.threads})
        choices = [{**one, "batch": size} for one in divisions for size in (512, 1024, 2048, 4096)]
        return fastest(choices, lambda choice: self(sources, beam, choice))

    def __call__(self, sources: Sources, beam: int, settings: Settings) -> Outputs:
        worker = self.translator(settings.get("inter", 1), settings.get("intra", self.threads))
        longest = max(len(source) for source in sources)
        limit = longest * self.config.max_ratio + self.config.max_extra
        results = worker.translate_batch(
            [[self.words[i] for i in source] for source in sources],
            beam_size=beam,
            length_penalty=self.config.alpha,
            max_batch_size=settings.get("batch", 0),
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


def fastest(choices: Sequence[Settings], run: Callable[[Settings], object]) -> Settings:
    """The choice with the shortest time of two, after one that is not counted."""

    def seconds(choice: Settings) -> float:
        run(choice)
        return min(timed(lambda: run(choice))[0] for _ in range(2))

    return min(choices, key=seconds)


def make_contestant(name: str, run: Path, exports: Path, threads: int) -> Contestant:
    if name == OURS:
        return Headway(run, threads)
    torch.set_num_threads(threads)
    config = headway.load(run).search_config()
    if name == HF:
        return HuggingFace(exports / "hf", config)
    kind = "int8" if name == INT8 else "float32"
    return CTranslate2(exports / "ctranslate2", kind, config, threads)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    gc.collect()
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def read_sources(run: Path, file: Path, limit: int) -> list[np.ndarray]:
    """The encoded lines that have text.

    Raises:
        DataError: fewer than two of them.
    """
    lines = [line for line in read_lines(str(file)) if line.strip()][:limit]
    if len(lines) < 2:
        raise DataError(f"{file} has {len(lines)} lines with text; give 2 or more")
    return list(headway.load(run).task.source.encode_batch(lines))


def answer(contestant: Contestant, sources: Sources, asked: dict[str, Any]) -> dict[str, Any]:
    rows = asked.get("rows")
    chosen = sources if rows is None else [sources[row] for row in rows]
    if asked.get("tune"):
        return {"settings": contestant.tune(chosen, asked["beam"])}
    settings = asked.get("settings", {})
    seconds, outputs = timed(lambda: contestant(chosen, asked["beam"], settings))
    return {"seconds": seconds, "outputs": [[int(token) for token in one] for one in outputs]}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("run", type=Path)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--exports", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"  # before transformers is loaded: nothing is fetched
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    sources = read_sources(given.run, given.source, given.limit)
    contestant = make_contestant(given.name, given.run, given.exports, given.threads)
    for line in sys.stdin:
        print(json.dumps(answer(contestant, sources, json.loads(line))), flush=True)


if __name__ == "__main__":
    start_alike()
    main()
